// A rank of an MPI world that bench/collective times. See command.go for the lines.
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int rank, size;
static float *in, *out;
static long room;

static float value(long r, long i) { return (float)((i * 7 + r * 13) % 101); }

static float total(long i) {
	float s = 0;
	for (long r = 0; r < size; r++) s += value(r, i);
	return s;
}

static int is(const char *op, const char *name) { return strcmp(op, name) == 0; }

// extent is the elements of all that an operation works on.
static long extent(const char *op, long n) {
	return is(op, "allreduce") || is(op, "broadcast") || is(op, "reduce") ? n : n * size;
}

static void fill(const char *op, int place, long n) {
	for (long i = 0; i < extent(op, n); i++) in[i] = value(rank, i), out[i] = -1;
	if (is(op, "broadcast") && rank == 0) memcpy(out, in, n * 4);
	if (!place) return;
	if (is(op, "allgather")) memcpy(out + rank * n, in, n * 4);
	else if (is(op, "reducescatter")) memcpy(out, in, n * size * 4);
	else memcpy(out, in, n * 4);
	if (is(op, "broadcast") && rank != 0) out[0] = -1;
}

static int once(const char *op, int place, long n) {
	const void *from = place ? MPI_IN_PLACE : in;
	if (is(op, "allreduce")) return MPI_Allreduce(from, out, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	if (is(op, "broadcast")) return MPI_Bcast(out, n, MPI_FLOAT, 0, MPI_COMM_WORLD);
	if (is(op, "reduce")) return MPI_Reduce(rank == 0 ? from : place ? out : in, out, n, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
	if (is(op, "reducescatter")) return MPI_Reduce_scatter_block(from, out, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	if (is(op, "allgather")) return MPI_Allgather(from, n, MPI_FLOAT, out, n, MPI_FLOAT, MPI_COMM_WORLD);
	if (is(op, "gather")) return MPI_Gather(in, n, MPI_FLOAT, out, n, MPI_FLOAT, 0, MPI_COMM_WORLD);
	if (is(op, "scatter")) return MPI_Scatter(in, n, MPI_FLOAT, out, n, MPI_FLOAT, 0, MPI_COMM_WORLD);
	if (is(op, "alltoall")) return MPI_Alltoall(in, n, MPI_FLOAT, out, n, MPI_FLOAT, MPI_COMM_WORLD);
	return -1;
}

static long wrong(const char *op, long n) {
	long bad = 0;
	for (long i = 0; i < n; i++) {
		if (is(op, "allreduce") || (is(op, "reduce") && rank == 0)) bad += out[i] != total(i);
		if (is(op, "broadcast")) bad += out[i] != value(0, i);
		if (is(op, "reducescatter")) bad += out[i] != total(rank * n + i);
		if (is(op, "scatter")) bad += out[i] != value(0, rank * n + i);
		for (long r = 0; r < size; r++) {
			if (is(op, "allgather") || (is(op, "gather") && rank == 0)) bad += out[r * n + i] != value(r, i);
			if (is(op, "alltoall")) bad += out[r * n + i] != value(r, rank * n + i);
		}
	}
	return bad;
}

int main(int argc, char **argv) {
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc != 2) return 2;
	cpu_set_t all, own;
	CPU_ZERO(&own);
	if (sched_getaffinity(0, sizeof all, &all) == 0) {
		int turn = rank % CPU_COUNT(&all);
		for (int c = 0; c < CPU_SETSIZE; c++)
			if (CPU_ISSET(c, &all) && turn-- == 0) CPU_SET(c, &own);
		if (sched_setaffinity(0, sizeof own, &own) != 0) perror("sched_setaffinity");
	}
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	strncpy(to.sun_path, argv[1], sizeof to.sun_path - 1);
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	if (connect(s, (struct sockaddr *)&to, sizeof to) != 0) { perror("connect"); return 1; }
	FILE *commands = fdopen(s, "r"), *answers = fdopen(dup(s), "w");
	char version[MPI_MAX_LIBRARY_VERSION_STRING], line[256], act[16], op[32];
	int length, place, times;
	long n;
	MPI_Get_library_version(version, &length);
	for (char *c = version; *c; c++) if (*c == '\n' || *c == ',') *c = 0;
	fprintf(answers, "hello %d %s\n", rank, version);
	fflush(answers);
	while (fgets(line, sizeof line, commands)) {
		if (sscanf(line, "%15s %31s %d %ld %d", act, op, &place, &n, &times) != 5) break;
		if (extent(op, n) > room) {
			free(in), free(out);
			room = extent(op, n);
			in = aligned_alloc(4096, (room * 4 + 4095) / 4096 * 4096), out = aligned_alloc(4096, (room * 4 + 4095) / 4096 * 4096);
		}
		char answer[64];
		int status = 0;
		if (is(act, "check")) {
			fill(op, place, n);
			status = once(op, place, n);
			snprintf(answer, sizeof answer, "ok %ld", wrong(op, n));
		} else {
			memset(in, 0, extent(op, n) * 4), memset(out, 0, extent(op, n) * 4);
			MPI_Barrier(MPI_COMM_WORLD);
			double start = MPI_Wtime();
			for (int i = 0; i < times && status == 0; i++) status = once(op, place, n);
			snprintf(answer, sizeof answer, "ok %.9f", MPI_Wtime() - start);
		}
		fprintf(answers, "%s\n", status == 0 ? answer : "error the operation failed");
		fflush(answers);
	}
	MPI_Finalize();
	return 0;
}
