// Goal: the table of attacks is true. Each attack has the outcome that attacks.def gives, so a
// bypass that is closed or opened is noticed. Method: each attack runs in a process of its own,
// with the guard preloaded as the agent mounts it (/etc/ld.so.preload, in a mount namespace). The
// simulated driver's own count is the reference. Needs root.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "guard/region/account.hpp"
#include "guard/test_support/guarded_container.hpp"

namespace tessera::guard {
namespace {

using gpusim::kGiB;
using gpusim::kMiB;
using gpusim::SimulatedNode;

enum class Verdict { caught, reported, documented };

const char* name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::caught:
            return "caught";
        case Verdict::reported:
            return "reported";
        case Verdict::documented:
            return "documented";
    }
    return "";
}

struct Attack {
    const char* name;
    Verdict verdict;
    const char* text;
};
constexpr Attack kAttacks[] = {
#define ATTACK(name, verdict, text, ...) {#name, Verdict::verdict, text},
#define POD_ATTACK(...)
#include "guard/attacks/attacks.def"
#undef POD_ATTACK
#undef ATTACK
};

// The agent's allowance: what a process may have in addition to what the accounts say.
constexpr std::uint64_t kAllowance = 600 * kMiB;

// A process of the container, with pipes to it.
class Attacker {
  public:
    explicit Attacker(const std::vector<std::string>& command) {
        int in[2];
        int out[2];
        if (pipe(in) != 0 || pipe(out) != 0) throw std::runtime_error("pipe");
        pid_ = fork();
        if (pid_ == 0) {
            dup2(in[0], STDIN_FILENO);
            dup2(out[1], STDOUT_FILENO);
            for (const int fd : {in[0], in[1], out[0], out[1]})
                close(fd);
            std::vector<char*> arguments;
            for (const std::string& each : command)
                arguments.push_back(const_cast<char*>(each.c_str()));
            arguments.push_back(nullptr);
            execvp(arguments[0], arguments.data());
            _exit(127);
        }
        close(in[0]);
        close(out[1]);
        to_ = in[1];
        from_ = out[0];
    }
    ~Attacker() {
        close(to_);
        close(from_);
        waitpid(pid_, nullptr, 0);
    }
    Attacker(const Attacker&) = delete;
    Attacker& operator=(const Attacker&) = delete;

    // False if it ended before it printed "done".
    bool is_done() const {
        char letter = 0;
        while (read(from_, &letter, 1) == 1)
            if (letter == '\n') return true;
        return false;
    }

  private:
    pid_t pid_ = -1;
    int to_ = -1;
    int from_ = -1;
};

class GuardAttacks : public testing::TestWithParam<Attack> {
  protected:
    SimulatedNode node_{"gpus:\n  - {model: A, memory: 8GiB, context_overhead: 100MiB}\n"};
    GuardedContainer container_{node_, {{0, kGiB, 100 * kMiB}}};
    std::filesystem::path scratch_ = container_.region().directory() / "scratch";

    void SetUp() override {
        if (geteuid() != 0) GTEST_SKIP() << "needs root, for a mount namespace";
        std::filesystem::create_directories(scratch_ / "ram");
        std::ofstream(scratch_ / "namespace.sh") << fmt::format(
            "mount -t tmpfs none {0}/ram; set -e; mkdir {0}/ram/up {0}/ram/work\n"
            // Files of an attack are gone with this namespace.
            "mkdir -m 1777 {0}/ram/temporary; mount --bind {0}/ram/temporary /var/tmp\n"
            "export TMPDIR=/var/tmp\n"
            "mount -t overlay -o lowerdir=/etc,upperdir={0}/ram/up,workdir={0}/ram/work"
            " overlay /etc\n"
            "echo {1} > /etc/ld.so.preload\n"
            "echo {2} > /etc/ld.so.conf.d/driver.conf\n"
            "ldconfig\n"
            "exec " TESSERA_BINARY_DIR "/bin/guard_attack \"$1\"\n",
            scratch_.string(), container_.guard().string(),
            node_.library("libcuda.so.1").parent_path().string());
    }
    [[nodiscard]] Verdict verdict_of(const char* name) const {
        const Attacker attacker(
            {"unshare", "--mount", "sh", (scratch_ / "namespace.sh").string(), name});
        attacker.is_done();
        const std::uint64_t used = node_.used(0);
        if (used <= kGiB) return Verdict::caught;
        const std::uint64_t held = tessera::guard::held(container_.region().accounts(), 0);
        return used > held * kAllocationUnitBytes + kAllowance ? Verdict::reported
                                                               : Verdict::documented;
    }
};

TEST_P(GuardAttacks, AreWhatTheTableSays) {
    const Verdict found = verdict_of(GetParam().name);
    std::printf("%-24s %-10s %-10s %s\n", GetParam().name, name_of(GetParam().verdict),
                name_of(found), GetParam().text);
    EXPECT_EQ(found, GetParam().verdict)
        << "expected " << name_of(GetParam().verdict) << ", found " << name_of(found);
}

INSTANTIATE_TEST_SUITE_P(All, GuardAttacks, testing::ValuesIn(kAttacks),
                         [](const auto& attack) { return std::string(attack.param.name); });

// An attack that cannot begin would be "caught" whatever the guard does.
TEST_P(GuardAttacks, TakeMoreThanTheShareWithoutTheGuard) {
    const std::string name = GetParam().name;
    const bool is_of_guard =
        name.find("_guard") != std::string::npos || name.find("_accounts") != std::string::npos ||
        name == "overwritten_magic" || name == "forged_charges" || name == "traced";
    if (is_of_guard) GTEST_SKIP() << "there is no guard to attack";
    const Attacker attacker(
        {"env", "TMPDIR=" + scratch_.string(),
         "LD_LIBRARY_PATH=" + node_.library("libcuda.so.1").parent_path().string(),
         TESSERA_BINARY_DIR "/bin/guard_attack", name});
    // With an empty environment, this attack finds no driver here.
    if (attacker.is_done()) {
        EXPECT_GT(node_.used(0), kGiB);
    } else {
        EXPECT_EQ(name, "executed");
    }
}

}  // namespace
}  // namespace tessera::guard
