// Invalid data that a tenant may write into its accounts.
#pragma once

#include <cstdint>
#include <iterator>
#include <random>

#include "guard/region/account.hpp"
#include "guard/region/process_time.hpp"

namespace tessera::guard {

// Writes one kind of data in each round, in rotation.
class Nonsense {
  public:
    void write(Accounts& accounts, int round, std::int64_t now) {
        auto* words = reinterpret_cast<std::uint64_t*>(&accounts);
        for (std::size_t i = 0; i < sizeof(Accounts) / sizeof *words; i++)
            words[i] = word(round % 5, static_cast<std::uint64_t>(now));
        if (round % 5 != 2) accounts.slots_end = round % 3 == 0 ? 1500 : kMaxProcesses;
    }

  private:
    std::uint64_t word(int way, std::uint64_t now) {
        const std::uint64_t some[] = {0,
                                      1,
                                      now,
                                      now - random_() % 20'000'000,
                                      std::uint64_t{1} << 63U,
                                      (std::uint64_t{1} << 63U) - 1,
                                      std::uint64_t{kMaxTimeNs} + 1,
                                      random_()};
        switch (way) {
            case 0:
                return ~std::uint64_t{0};
            case 1:
                return random_();
            case 2:
                return 0;
            case 3:
                return (std::uint64_t{1} << 63U) - 1;
            default:
                return some[random_() % std::size(some)];
        }
    }

    std::mt19937_64 random_{7};
};

}  // namespace tessera::guard
