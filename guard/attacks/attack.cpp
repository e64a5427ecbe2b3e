// One attack of attacks.def by its name. Says "done" when it has what it could get, and keeps
// that until its input ends. It is preloaded with the guard, as a tenant's program is.
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
