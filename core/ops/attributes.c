/* SPDX-License-Identifier: MIT
 *
 * Reading attributes with their defaults. Whatever is read here is marked used; the importer refuses the rest. */
#include <math.h>
#include <string.h>

#include "core/base/message.h"
#include "ops.h"

static const char *attr_type_name(enum npl_attr_type type)
{
	switch (type) {
	case NPL_ATTR_INT:
		return "an integer";
	case NPL_ATTR_FLOAT:
		return "a float";
	case NPL_ATTR_STRING:
		return "a string";
	case NPL_ATTR_INTS:
		return "a list of integers";
	case NPL_ATTR_FLOATS:
		return "a list of floats";
	case NPL_ATTR_STRINGS:
		return "a list of strings";
	case NPL_ATTR_TENSOR:
		return "a tensor";
	default:
		return "of an unsupported type";
	}
}

int op_attr_find(struct npl_attr_list *list, const char *name, enum npl_attr_type type, struct npl_attr **attr,
		 struct npl_err *err)
{
	*attr = NULL;
	for (int i = 0; i < list->n && !*attr; i++)
		if (!strcmp(list->attr[i].name, name))
			*attr = &list->attr[i];
	if (!*attr)
		return 0;
	(*attr)->used = true;
	if ((*attr)->type == type)
		return 0;
	return npl_fail(err, NPL_EINPUT, "attribute %s is %s, expected %s", name, attr_type_name((*attr)->type),
			attr_type_name(type));
}

int op_attr_int(struct npl_attr_list *list, const char *name, int64_t fallback, int64_t *value, struct npl_err *err)
{
	struct npl_attr *attr;
	if (op_attr_find(list, name, NPL_ATTR_INT, &attr, err))
		return NPL_EINPUT;
	*value = attr ? attr->i : fallback;
	return 0;
}

int op_attr_count(struct npl_attr_list *list, const char *name, int64_t *value, struct npl_err *err)
{
	struct npl_attr *attr;
	if (op_attr_find(list, name, NPL_ATTR_INT, &attr, err))
		return NPL_EINPUT;
	if (attr && attr->i < 1)
		return npl_fail(err, NPL_EINPUT, "attribute %s is %lld, expected at least 1", name, (long long)attr->i);
	*value = attr ? attr->i : 0;
	return 0;
}

int op_attr_flag(struct npl_attr_list *list, const char *name, bool fallback, bool *value, struct npl_err *err)
{
	int64_t number;
	if (op_attr_int(list, name, fallback, &number, err))
		return NPL_EINPUT;
	if (number != 0 && number != 1)
		return npl_fail(err, NPL_EINPUT, "attribute %s is %lld, expected 0 or 1", name, (long long)number);
	*value = number;
	return 0;
}

int op_attr_float(struct npl_attr_list *list, const char *name, float fallback, float *value, struct npl_err *err)
{
	struct npl_attr *attr;
	if (op_attr_find(list, name, NPL_ATTR_FLOAT, &attr, err))
		return NPL_EINPUT;
	*value = attr ? attr->f : fallback;
	if (!isfinite(*value))
		return npl_fail(err, NPL_EINPUT, "attribute %s must be a finite number, got %g", name, (double)*value);
	return 0;
}

int op_attr_string(struct npl_attr_list *list, const char *name, const char *fallback, const char **value,
		   struct npl_err *err)
{
	struct npl_attr *attr;
	if (op_attr_find(list, name, NPL_ATTR_STRING, &attr, err))
		return NPL_EINPUT;
	*value = attr ? attr->s : fallback;
	return 0;
}

int op_attr_choice(struct npl_attr_list *list, const char *name, const char *const *choices, unsigned fallback,
		   unsigned *choice, struct npl_err *err)
{
	const char *text;
	if (op_attr_string(list, name, choices[fallback], &text, err))
		return NPL_EINPUT;
	for (*choice = 0; choices[*choice]; ++*choice)
		if (!strcmp(choices[*choice], text))
			return 0;
	return npl_fail(err, NPL_EINPUT, "attribute %s is '%s', which is not supported", name, text);
}

int op_attr_ints(struct npl_attr_list *list, const char *name, int capacity, int64_t *values, int *n,
		 struct npl_err *err)
{
	struct npl_attr *attr;
	*n = -1;
	if (op_attr_find(list, name, NPL_ATTR_INTS, &attr, err))
		return NPL_EINPUT;
	if (!attr)
		return 0;
	if (attr->n < 0 || attr->n > capacity)
		return npl_fail(err, NPL_EINPUT, "attribute %s has %lld value%s, expected at most %d", name,
				(long long)attr->n, npl_plural(attr->n), capacity);
	*n = (int)attr->n;
	if (attr->n)
		memcpy(values, attr->ints, (size_t)attr->n * sizeof *values);
	return 0;
}

int op_attr_floats(struct npl_attr_list *list, const char *name, const float **values, int64_t *n, struct npl_err *err)
{
	struct npl_attr *attr;
	*n = -1;
	*values = NULL;
	if (op_attr_find(list, name, NPL_ATTR_FLOATS, &attr, err))
		return NPL_EINPUT;
	if (attr) {
		*values = attr->floats;
		*n = attr->n;
	}
	return 0;
}

int op_attr_type(struct npl_attr_list *list, const char *name, enum npl_dtype *type, struct npl_err *err)
{
	struct npl_attr *attr;
	*type = NPL_DTYPES;
	if (op_attr_find(list, name, NPL_ATTR_INT, &attr, err))
		return NPL_EINPUT;
	if (!attr)
		return 0;
	const struct npl_element_type *known = attr->i < 0 ? NULL : npl_element_type((uint64_t)attr->i);
	if (!known)
		return npl_fail(err, NPL_EINPUT, "attribute %s is %lld, which is not an element type that npulab knows",
				name, (long long)attr->i);
	*type = known->dtype;
	if (*type == NPL_DTYPES)
		return npl_fail(err, NPL_EINPUT, "attribute %s is %s, an element type that is not supported: %s", name,
				known->name, known->instead);
	return 0;
}

void op_attr_accept(struct npl_attr_list *list, const char *name)
{
	for (int i = 0; i < list->n; i++)
		if (!strcmp(list->attr[i].name, name))
			list->attr[i].used = true;
}
