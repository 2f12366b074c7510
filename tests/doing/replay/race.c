/* Threads that share memory without a word to the system: what is printed follows from their order alone. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WORKERS = 4, ROUNDS = 300 };
static char order[WORKERS * ROUNDS + 1];
static int used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;

static void *worker(void *own)
{
    for (int i = 0; i < ROUNDS; i++) {
        /* All wait for the same time, and run at once. */
        poll(NULL, 0, 1);
        pthread_mutex_lock(&lock);
        order[used++] = (char)('a' + (int)(long)own);
        pthread_cond_signal(&more);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t workers[WORKERS];
    int printed = 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    puts("ready");
    for (long i = 0; i < WORKERS; i++) pthread_create(&workers[i], NULL, worker, (void *)i);
    while (printed < WORKERS * ROUNDS) {
        pthread_mutex_lock(&lock);
        while (used == printed) pthread_cond_wait(&more, &lock);
        int until = used;
        pthread_mutex_unlock(&lock);
        write(1, order + printed, (size_t)(until - printed));
        printed = until;
    }
    for (int i = 0; i < WORKERS; i++) pthread_join(workers[i], NULL);
    puts("");
    return 3;
}
