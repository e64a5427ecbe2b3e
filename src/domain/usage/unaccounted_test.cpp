#include "domain/usage/unaccounted.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

const GpuUuid kCard("GPU-a");
const Bytes kContext = mebibytes(500);

ShareUse share(const char* pod, std::int64_t gib, bool lives = true) {
    ShareUse use{.pod = PodUid(pod),
                 .name = {"s", pod},
                 .container = "main",
                 .card = kCard,
                 .held = gibibytes(gib)};
    if (lives) use.processes = {{.pid = 1, .held = gibibytes(gib)}};
    return use;
}

CardProcess process(const char* pod, std::int64_t pid, Bytes used) {
    return {.card = kCard, .pid = pid, .pod = PodUid(pod), .used = used};
}

// Goal: who uses what he holds is not found, whatever his contexts take; who uses more is, with all
// that is known of him. Processes that the accounts do not know add no allowance, however many
// there are. Method: a table around one pod that holds 2 GiB.
TEST(Unaccounted, BeyondTheAccounts) {
    struct Case {
        std::vector<Bytes> used;
        std::size_t counted;  // processes that the accounts know
        bool is_found;
    };
    for (const Case& c : {Case{{gibibytes(2)}, 1, false},
                          {{gibibytes(2) + kContext}, 1, false},
                          {{gibibytes(2) + kContext + Bytes{1}}, 1, true},
                          {{gibibytes(2) + kContext}, 0, false},
                          {{gibibytes(2) + kContext + Bytes{1}}, 0, true},
                          {{gibibytes(1), gibibytes(1) + kContext + kContext}, 2, false},
                          {{gibibytes(1), gibibytes(1) + kContext + kContext}, 1, true},
                          {{gibibytes(2), kContext, kContext, kContext}, 1, true},
                          {{gibibytes(2), kContext, kContext, kContext}, 4, false},
                          {{gibibytes(2) + kContext + Bytes{1}}, 4, true},
                          {{gibibytes(1), gibibytes(2) + kContext}, 1, true}}) {
        std::vector<CardProcess> processes;
        for (const Bytes used : c.used)
            processes.push_back(process("p", static_cast<std::int64_t>(processes.size()), used));
        std::vector uses{share("p", 2)};
        uses[0].processes.resize(c.counted);
        EXPECT_EQ(find_unaccounted(processes, uses, kContext).size(), c.is_found ? 1U : 0U);
    }
}

TEST(Unaccounted, SaysWhatIsKnown) {
    ShareUse side = share("p", 1);
    side.container = "side";
    const std::vector uses{share("p", 2), side};
    const std::vector processes{process("p", 7, gibibytes(4)), process("p", 8, gibibytes(1))};
    EXPECT_EQ(find_unaccounted(processes, uses, kContext),
              (std::vector<Unaccounted>{{.pod = PodUid("p"),
                                         .name = {"s", "p"},
                                         .card = kCard,
                                         .used = gibibytes(5),
                                         .held = gibibytes(3),
                                         .pids = {7, 8}}}));
}

// Goal: who has no share of a card is found where others live by theirs, and not on a card that was
// given whole, or on which only the dead have left something; processes of no pod are nobody's.
TEST(Unaccounted, Strangers) {
    const std::vector stranger{process("stranger", 7, mebibytes(1)), process("", 8, gibibytes(9))};
    EXPECT_EQ(find_unaccounted(stranger, std::vector{share("p", 2)}, kContext).size(), 1U);
    EXPECT_TRUE(find_unaccounted(stranger, std::vector{share("p", 2, false)}, kContext).empty());
    std::vector idle{share("p", 0)};  // its process has taken nothing of this card
    EXPECT_TRUE(find_unaccounted(stranger, idle, kContext).empty());
    EXPECT_TRUE(find_unaccounted(stranger, {}, kContext).empty());
}

// Goal: what is in use of a card and nobody's is found, beyond the allowance; not what a share
// holds by a descriptor, which the driver counts for no process, nor a process of no pod, nor a
// card without shares. Method: a table of what is in use of the card.
TEST(Unclaimed, IsWhatNobodyHas) {
    const std::vector uses{share("p", 4), share("q", 1), share("dead", 2, false)};
    const std::vector processes{process("p", 7, gibibytes(1)), process("q", 8, gibibytes(3)),
                                process("", 9, gibibytes(5))};
    const Bytes claimed = gibibytes(4 + 3 + 5 + 2);
    for (const Bytes used : {Bytes{}, claimed, claimed + kContext})
        EXPECT_TRUE(find_unclaimed(std::vector<CardInUse>{{kCard, used}}, processes, uses, kContext)
                        .empty());
    const Bytes more = claimed + kContext + Bytes{1};
    EXPECT_EQ(
        find_unclaimed(std::vector<CardInUse>{{GpuUuid("GPU-b"), gibibytes(9)}, {kCard, more}},
                       processes, uses, kContext),
        (std::vector<Unclaimed>{{.card = kCard, .used = more, .claimed = claimed}}));
}

}  // namespace
}  // namespace tessera
