// The process that holds the namespaces of a pod: it waits for the signal that ends the pod, and
// takes the orphans of pods that share their pid namespace. Linked statically, alone in its image.
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>

int main(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGCHLD);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  for (;;) {
    int number = 0;
    sigwait(&signals, &number);
    if (number != SIGCHLD) return 0;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
  }
}
