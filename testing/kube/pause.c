// The process that keeps the namespaces of a pod. It waits for the signal that ends the pod, and
// reaps orphans in pods that share their PID namespace. It is linked statically, and is the only
// file in its image.
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
