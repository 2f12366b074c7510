/* Latencies of messages between the ranks of one MPI program. Rank 0 prints a JSON object per line.

   round-trip  Rank 0 sends to rank 1 (MPI_Send), which sends as many bytes back: until they are there.
   exchange    Ranks 0 and 1 send to each other at once (MPI_Sendrecv): until both have all bytes.
   barrier     All ranks meet (MPI_Barrier): until rank 0 may go on.

   Each is repeated after a warm-up; printed are the median and the least of the repetitions. A
   repetition of an exchange or a barrier is the mean of four in a row: a single one takes a rank
   hardly any time if the others were first, and the next one all the longer. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WARM_UP = 3, FEWEST = 5, MOST = 1000, LARGEST = 1 << 18, IN_A_ROW = 4 };
enum { DONE = 1, LOOK_US = 1000 };
static const double WANTED_S = 0.2; /* for all repetitions of one size */
static const int SIZES[] = {1, 64, 1024, 4096, 16384, 65536, LARGEST};

static char out[LARGEST], in[LARGEST];
static double times_s[MOST];
static int rank;

static void round_trip(MPI_Comm comm, int bytes) {
  if (rank == 0) {
    MPI_Send(out, bytes, MPI_BYTE, 1, 0, comm);
    MPI_Recv(in, bytes, MPI_BYTE, 1, 0, comm, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(in, bytes, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE);
    MPI_Send(out, bytes, MPI_BYTE, 0, 0, comm);
  }
}

static void exchange(MPI_Comm comm, int bytes) {
  int other = 1 - rank;
  MPI_Sendrecv(out, bytes, MPI_BYTE, other, 0, in, bytes, MPI_BYTE, other, 0, comm,
               MPI_STATUS_IGNORE);
}

static void barrier(MPI_Comm comm, int bytes) {
  (void)bytes;
  MPI_Barrier(comm);
}

static int by_time(const void *one, const void *other) {
  double a = *(const double *)one, b = *(const double *)other;
  return (a > b) - (a < b);
}

/* Return the mean time of some operations in a row. */
static double timed(void (*act)(MPI_Comm, int), MPI_Comm comm, int bytes, int in_a_row) {
  double began_s = MPI_Wtime();
  for (int i = 0; i < in_a_row; i++)
    act(comm, bytes);
  return (MPI_Wtime() - began_s) / in_a_row;
}

static void measure(const char *name, void (*act)(MPI_Comm, int), MPI_Comm comm, int bytes) {
  int in_a_row = act == round_trip ? 1 : IN_A_ROW;
  double each_s = in_a_row * timed(act, comm, bytes, WARM_UP);
  int count = each_s * MOST > WANTED_S ? (int)(WANTED_S / each_s) : MOST;
  count = count < FEWEST ? FEWEST : count;
  MPI_Bcast(&count, 1, MPI_INT, 0, comm);
  for (int i = 0; i < count; i++)
    times_s[i] = timed(act, comm, bytes, in_a_row);
  if (rank != 0)
    return;
  qsort(times_s, count, sizeof *times_s, by_time);
  double median_s = (times_s[(count - 1) / 2] + times_s[count / 2]) / 2;
  printf("{\"operation\": \"%s\", \"size_bytes\": %d, \"repeats\": %d, \"median_ns\": %.0f, "
         "\"least_ns\": %.0f}\n",
         name, bytes, count, median_s * 1e9, times_s[0] * 1e9);
  fflush(stdout);
}

/* Wait without use of CPU time, which the two ranks that are measured may need. */
static void wait_for_pair(void) {
  int there = 0;
  while (!there) {
    usleep(LOOK_US);
    MPI_Iprobe(0, DONE, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
  }
  MPI_Recv(NULL, 0, MPI_BYTE, 0, DONE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  int ranks;
  MPI_Comm pair;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks < 2) {
    fprintf(stderr, "latency: it takes two ranks or more\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &pair);
  if (rank < 2) {
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++)
      measure("round-trip", round_trip, pair, SIZES[i]);
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++)
      measure("exchange", exchange, pair, SIZES[i]);
  } else {
    wait_for_pair();
  }
  for (int other = 2; rank == 0 && other < ranks; other++)
    MPI_Send(NULL, 0, MPI_BYTE, other, DONE, MPI_COMM_WORLD);
  measure("barrier", barrier, MPI_COMM_WORLD, 0);
  MPI_Finalize();
  return 0;
}
