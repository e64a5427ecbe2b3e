/* Calls its own take(), if it was linked with one, and then the take() of each library in its
 * arguments. Prints the results: LIBRARY RESULT, one per line. */
#include "guard/test_support/takers.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#pragma weak take

int main(int count, char** arguments) {
    if (take != NULL) printf("linked %d\n", take());
    for (int i = 1; i < count; i++) {
        void* library = dlopen(arguments[i], RTLD_NOW | RTLD_LOCAL);
        void* its_take = library != NULL ? dlsym(library, "take") : NULL;
        const char* name = strrchr(arguments[i], '/') + 1;
        printf("%s %d\n", name, its_take != NULL ? ((int (*)(void))its_take)() : -1);
    }
    return 0;
}
