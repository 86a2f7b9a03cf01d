/* SPDX-License-Identifier: MIT
 *
 * Members of a struct of parameters. A list of parameters (parameters.def) has the rows that core/param_rows.h makes.
 * These macros make from the same rows the members that hold the values:
 *
 *     struct dn_config {
 *     #define DN_PARAMETER(form, ...) PARAM_MEMBER_##form(__VA_ARGS__)
 *     #include "parameters.def"
 *     #undef DN_PARAMETER
 *     };
 */
#ifndef NPULAB_CORE_PARAM_MEMBERS_H
#define NPULAB_CORE_PARAM_MEMBERS_H

#include <stdint.h>

#define PARAM_MEMBER_INT(member)                    int64_t member;
#define PARAM_MEMBER_DOUBLE(member)                 double member;
#define PARAM_MEMBER_NUMBER(key, type, member, ...) PARAM_MEMBER_##type(member)
#define PARAM_MEMBER_SIZE(...)                      PARAM_MEMBER_NUMBER(__VA_ARGS__)
#define PARAM_MEMBER_TEXT(key, member, ...)         const char *member;
#define PARAM_MEMBER_FILE_OR_NAME(key, member, ...) const char *member;
#define PARAM_MEMBER_CHOICE(key, member, ...)       int member;         /* the index of the word, from 0 on */
#define PARAM_MEMBER_ORIGIN(key, member, ...)       const char *member; /* "absent": the figures are not known */
/* The struct itself declares the array whose element is the parameter. */
#define PARAM_MEMBER_ELEMENT(...)

/* A list of choices makes both the constants of an enum and the words of a CHOICE, so that their orders are the same:
 *
 *     #define TPU_PRECISIONS(X) X(TPU_INT8, "int8") X(TPU_8X16, "8x16/int8x16")
 *     enum tpu_precision { TPU_PRECISIONS(PARAM_CONSTANT) };
 *     CHOICE("precision", precision, "int8", "of activations", TPU_PRECISIONS(PARAM_WORD))
 */
#define PARAM_CONSTANT(constant, word) constant,
#define PARAM_WORD(constant, word)     word " "

#endif
