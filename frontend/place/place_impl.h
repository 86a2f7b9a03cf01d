/* SPDX-License-Identifier: MIT
 *
 * The model of costs by which a placement is searched (npulab/place.h). A placement is a sequence of pieces: nodes that
 * follow each other and that a device runs in one go, as a layer group or as one layer (with the activation fused into
 * it), or one layer of the host. A piece has its cost from a run of its own. Where a piece reads a value that is in
 * another number format or another memory, conversions on the host and transfers over links are added, as in a session
 * (frontend/session/value_store.h), and each piece begins when its inputs are there and its device is free
 * (frontend/session/schedule.h). */
#ifndef NPULAB_FRONTEND_PLACE_PLACE_IMPL_H
#define NPULAB_FRONTEND_PLACE_PLACE_IMPL_H

#include "npulab/place.h"
#include "sim/processor/processor_model.h"

#define PLACE_RESOURCES (1 + 2 * NPL_PLACE_DEVICES) /* the host, the devices, their links */
#define PLACE_MEMORIES  (1 + NPL_PLACE_DEVICES)     /* the host's, then each device's */
#define PLACE_LOCATIONS (NPL_FORMATS * PLACE_MEMORIES)

/* A value that a piece reads or makes: its root (npl_root_of), and in which number format and memory. */
struct place_port {
	int value;
	uint8_t format, memory; /* memory 0 is the host's, 1 + d that of device d */
	/* what crosses the device's link, before the piece for an input and after it for an output, beside transfers */
	double link_seconds, link_joules;
};

struct place_task {
	int resource;
	double seconds;
};

/* Nodes first..last, neither of which is a view. Its tasks follow each other. */
struct place_piece {
	int first, last;
	int device;      /* NPL_ON_HOST or the index of a device */
	bool may_extend; /* a session would run a following node of the same device in the same go */
	bool holds_link; /* bytes cross the device's link meanwhile */
	int n_in, n_out, n_tasks;
	struct place_port *in, *out;
	struct place_task *task;
	double seconds; /* the sum over the tasks */
	double joules;  /* without what the device's static power draws meanwhile, and without inputs' conversions */
};

struct place_device {
	struct npl_device *device;
	bool measured;
	bool works_in_host_memory; /* it has no link */
	double link_seconds, link_bytes_per_second, link_joules_per_byte;
	double static_watts;
	bool energy_known;
};

/* The pieces that begin at one node. */
struct place_pieces {
	int64_t n, capacity;
	struct place_piece *piece;
};

struct place_cost {
	double seconds, joules;
};

/* What it costs to change the number format of a value. */
struct place_conversions {
	struct place_cost from_float[NPL_FORMATS], to_float[NPL_FORMATS];
	double bytes[NPL_FORMATS]; /* of a copy in each */
};

struct place_model {
	struct npl_graph *graph;
	int n_devices;
	struct place_device device[NPL_PLACE_DEVICES];
	struct npl_device *host_device;
	const struct npl_processor_model *host;
	struct place_pieces *at; /* per node, the pieces that begin there; none at a view */
	int *root;               /* per value: the value that it is a view of, or itself */
	int *last_use;    /* per root: the last node that reads it; n_nodes: an output of the network; -1: none */
	int *last_reader; /* per root: the same without outputs */
	struct place_conversions *conversion; /* per root */
	int *next;           /* per node: itself, or the first node after it that is no view; one more entry */
	bool *on_path;       /* per node: it is on the path along which times are bounded (bound.c) */
	bool *starts_freely; /* per node: it or a later one reads no value at all but constants; one more entry */
	struct npl_arena arena;
	int64_t n_pieces; /* that were run */
	bool host_joules_known;
	bool proves;    /* all that a session does with this network is in the model */
	bool quantised; /* the network has a quantisation of its own, which is not in the model */
	bool left_out;  /* the network has more pieces than were run */
};

/* A copy of a value that the pieces so far have made, and that later ones read. */
struct place_copy {
	int value;
	uint8_t format, memory;
	double ready; /* when it is there */
};

/* What a sequence of pieces has come to. The copies are sorted by value, format and memory. */
struct place_state {
	const struct place_state *parent;
	const struct place_piece *piece; /* the last one; NULL: none yet */
	double joules;                   /* dynamic: without the static power of the devices */
	double bound;                    /* of the objective at the end */
	double rank;                     /* how promising it is: the least first */
	double free[PLACE_RESOURCES];    /* when each resource has done its work so far */
	bool dropped;                    /* another state is as good */
	struct place_state *chain;       /* in a search: the next state with the same hash of its copies */
	int n_copies;
	struct place_copy copy[];
};

/* A state in work, with room for copies. */
struct place_work {
	double joules;
	double free[PLACE_RESOURCES];
	int64_t n_copies, capacity;
	struct place_copy *copy;
	bool failed; /* memory ran out */
};

/* The resources of the schedule. */
static inline int place_device_resource(int device)
{
	return device == NPL_ON_HOST ? 0 : 1 + 2 * device;
}
static inline int place_link_resource(int device)
{
	return 2 + 2 * device;
}
/* The memory in which a device works. */
static inline uint8_t place_memory_of(const struct place_model *m, int device)
{
	return device == NPL_ON_HOST || m->device[device].works_in_host_memory ? 0 : (uint8_t)(1 + device);
}

/* model.c: opens the model of a network on opened devices, with the pieces of the host alone. Returns 0 or
 * err->code. */
int place_model_open(struct place_model *m, struct npl_graph *graph, struct npl_device *const *device, int n_devices,
		     struct npl_device *host, const struct npl_plan_options *plan, struct npl_err *err);
void place_model_close(struct place_model *m);
/* piece_list.c: returns a new piece at node `first`, with room for so many ports and tasks; NULL: memory is short. It
 * is valid until the next one at this node is added. */
struct place_piece *place_piece_add(struct place_model *m, int first, int n_in, int n_out, int n_tasks);
/* measured_pieces.c: adds the pieces of real device d, whose costs are those of the rows of a run of the whole network
 * on it. Returns 0 or err->code. */
struct npl_session;
int place_measured_pieces(struct place_model *m, int d, const struct npl_session *session, const struct npl_run *run,
			  double batches, struct npl_err *err);

/* pieces.c: adds the pieces of the host. */
int place_host_pieces(struct place_model *m, const struct npl_plan_options *plan, struct npl_err *err);
/* Adds the pieces of all modelled devices, unless no placement with them can be below `best`. costs: per device, the
 * objective where it has the whole network, by which the most promising one comes first; NULL: they are not known.
 * Returns 0 or err->code. */
int place_device_pieces(struct place_model *m, enum npl_place_objective objective, double best, const double *costs,
			const struct npl_plan_options *plan, struct npl_err *err);

/* worth.c: the least that layers before and after each node take. */
struct place_worth {
	unsigned unknown; /* the devices (bits) whose pieces are not in the model yet */
	struct place_cost *before, *after;
};
int place_worth_open(const struct place_model *m, unsigned unknown, struct place_worth *worth, struct npl_err *err);
/* Says whether a placement in which device d runs nodes first..last in one go may be as good as `best`. */
bool place_is_worth(const struct place_model *m, const struct place_worth *worth, enum npl_place_objective objective,
		    double best, int d, int first, int last);
void place_worth_close(struct place_worth *worth);

/* moves.c: finds the conversions of all values, after the tables of the graph. Returns 0 or err->code. */
int place_conversions_open(struct place_model *m, struct npl_err *err);
/* Returns time and energy of converting a value between float32 and another format, on the host. */
struct place_cost place_conversion(const struct place_model *m, int value, int from_format, int to_format);
/* Returns time and energy of moving a value between the host's memory and a device's. */
struct place_cost place_transfer(const struct place_model *m, int value, int format, int device);
/* Returns the least cost of bringing a value from one format and memory to others. */
struct place_cost place_route(const struct place_model *m, int value, int from_format, int from_memory, int to_format,
			      int to_memory);
/* Returns the number format in which the session keeps the value for a reader of this format. */
int place_kept_format(const struct place_model *m, int value, int format);

/* state.c */
/* Begins: the network's inputs are float32 in the host's memory. */
void place_work_begin(const struct place_model *m, struct place_work *work);
/* Copies what a state has done into the work. */
void place_work_of(const struct place_state *state, struct place_work *work);
/* Copies the work of another one. */
void place_work_copy(const struct place_work *from, struct place_work *work);
/* Runs the piece after what was done so far. */
void place_work_run(const struct place_model *m, struct place_work *work, const struct place_piece *piece);
/* Delivers the outputs and returns the makespan. */
double place_work_finish(const struct place_model *m, struct place_work *work);
void place_work_free(struct place_work *work);
/* Says whether a piece may follow: a session would not have run it in the same go as the piece before. */
bool place_may_follow(const struct place_piece *before, const struct place_piece *piece);

/* The objective of a makespan and dynamic energy where devices with these static watts in all are powered. */
double place_objective_of(enum npl_place_objective objective, double seconds, double joules, double static_watts);
/* The static power of the devices in a set (bits), and the set of those that a placement uses. */
double place_static_watts(const struct place_model *m, unsigned devices);
unsigned place_devices_of(const struct place_model *m, const int *place);

/* walk.c: sets *modelled to what the model says of the objective of a placement (per node); NAN: it has no pieces
 * for it. Returns 0 or err->code. */
int place_modelled(const struct place_model *m, enum npl_place_objective objective, const int *place, double *modelled,
		   struct npl_err *err);
/* Fills place[] by placing layer after layer, each where the objective of all so far is the least. */
int place_greedy(const struct place_model *m, enum npl_place_objective objective, int *place, struct npl_err *err);
/* Gives each view the device of the layer before it. */
void place_settle_views(const struct place_model *m, int *place);

/* bound.c: lower bounds of what remains. */
struct place_bounds {
	double seconds_weight, joules_weight;
	int n_nodes;
	double *rest;    /* (n_nodes + 1) x PLACE_LOCATIONS */
	int *path_value; /* per boundary: the value of the path that crosses it; -1: none */
};
/* Finds the path, the chain of layers that takes the host the longest. Call it after the pieces of the host. */
int place_path(struct place_model *m, struct npl_err *err);
/* Finds the least of seconds_weight * (time along the path) + joules_weight * (energy of all pieces) from each boundary
 * to the end, with pieces of the devices in the set (bits) and of the host. */
int place_bounds_open(const struct place_model *m, const bool *on_path, unsigned devices, double seconds_weight,
		      double joules_weight, struct place_bounds *bounds, struct npl_err *err);
/* Returns the bound of the weighted sum at the end for a state at a boundary. */
double place_bounds_of(const struct place_bounds *bounds, const struct place_work *work, int boundary);
void place_bounds_close(struct place_bounds *bounds);

/* dominance.c: the device on which no piece may follow a state at once; NPL_ON_HOST: any may. */
int place_barred(const struct place_state *state);
/* Says whether two states have the same copies, and bar the same device. */
bool place_has_same_copies(const struct place_state *a, const struct place_state *b);
/* Says whether state a is as good as b at a boundary: whatever follows costs with a at most what it costs with b, where
 * devices with these static watts in all are powered. */
bool place_is_as_good(const struct place_model *m, enum npl_place_objective objective, double static_watts,
		      const struct place_state *a, const struct place_state *b, int boundary);

/* search.c: searches for the best placement. best: the objective of the best placement that is known, with which the
 * search begins; place[] is that placement. Sets them to a better one if there is one, *bound to what no placement is
 * below. Returns 0 or err->code. */
struct place_search {
	enum npl_place_objective objective;
	int64_t max_states; /* after each layer */
	double best;
	int *place;
	double bound;
	bool complete;
	int64_t n_states;
};
int place_search(const struct place_model *m, struct place_search *search, struct npl_err *err);

#endif
