// Runs the attack of attacks.def that is named in the argument. Prints "done" when it has taken
// what it could get, and keeps that until its input ends. It runs with the guard preloaded, as a
// tenant's program does.
#include "guard/attacks/attack.hpp"

#include <cstring>

namespace {

struct Attack {
    const char* name;
    void (*run)();
};
constexpr Attack kAttacks[] = {
#define ATTACK(name, ...) {#name, tessera::attacks::name},
#define POD_ATTACK(name, ...) {#name, tessera::attacks::name},
#include "guard/attacks/attacks.def"
#undef POD_ATTACK
#undef ATTACK
};

}  // namespace

int main(int count, char** arguments) {
    for (const Attack& each : kAttacks) {
        if (count != 2 || std::strcmp(arguments[1], each.name) != 0) continue;
        each.run();
        tessera::attacks::done_and_wait();
    }
    return 2;
}
