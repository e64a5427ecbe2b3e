// fuzz_smoke CORPUS MUTATIONS: runs every fuzz target on its seeds and on MUTATIONS mutations of
// them, which are the same in every run. A target that finds a fault aborts the process.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#define FUZZ_TARGET(name) extern "C" int fuzz_##name(const std::uint8_t* data, std::size_t size);
#include "fuzz_targets.def"
#undef FUZZ_TARGET

namespace {

struct Target {
    const char* name;
    int (*run)(const std::uint8_t* data, std::size_t size);
};

const std::vector<Target> kTargets = {
#define FUZZ_TARGET(name) {#name, fuzz_##name},
#include "fuzz_targets.def"
#undef FUZZ_TARGET
};

std::vector<std::string> seeds_of(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    for (const auto& file : std::filesystem::directory_iterator(folder))
        files.push_back(file.path());
    std::ranges::sort(files);
    std::vector<std::string> seeds;
    for (const auto& file : files) {
        std::ifstream in(file, std::ios::binary);
        seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    return seeds;
}

std::size_t below(std::mt19937_64& random, std::size_t bound) {
    return bound == 0 ? 0 : static_cast<std::size_t>(random() % bound);
}

// A seed with one to four changes: bytes, words, parts of itself or of another seed, or its end.
std::string mutate(const std::vector<std::string>& seeds, std::mt19937_64& random) {
    static const std::vector<std::string> kWords = {
        "\"", "{",    "}",       "[",  "]",    ":",  ",",  "null", "-1",
        "0",  "1e99", "\\u0000", "\0", "\xff", "\\", "\n", "true", "99999999999999999999"};
    std::string text = seeds[below(random, seeds.size())];
    for (std::size_t changes = 1 + below(random, 4); changes > 0; --changes) {
        const std::size_t at = below(random, text.size() + 1);
        const std::size_t length = below(random, std::min<std::size_t>(text.size() - at, 40) + 1);
        switch (random() % 6) {
            case 0:
                text.erase(at, length);
                break;
            case 1:
                text.insert(at, kWords[below(random, kWords.size())]);
                break;
            case 2:
                text.insert(at, text.substr(at, length));
                break;
            case 3:
                if (at < text.size()) text[at] = static_cast<char>(random());
                break;
            case 4: {
                const std::string& other = seeds[below(random, seeds.size())];
                text.replace(at, length, other.substr(below(random, other.size() + 1), 40));
                break;
            }
            default:
                text.resize(at);
        }
    }
    return text;
}

void run(const Target& target, const std::string& input) {
    // A buffer of exactly this size, so that AddressSanitizer detects every access beyond it.
    const std::vector<std::uint8_t> bytes(input.begin(), input.end());
    target.run(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: fuzz_smoke CORPUS MUTATIONS\n");
        return 2;
    }
    const long mutations = std::strtol(argv[2], nullptr, 10);
    for (const Target& target : kTargets) {
        const std::vector<std::string> seeds =
            seeds_of(std::filesystem::path(argv[1]) / target.name);
        if (seeds.empty()) {
            std::fprintf(stderr, "%s has no seeds\n", target.name);
            return 1;
        }
        std::fprintf(stderr, "%s: %zu seeds, %ld mutations\n", target.name, seeds.size(),
                     mutations);
        for (const std::string& seed : seeds)
            run(target, seed);
        std::mt19937_64 random(20261121);
        for (long i = 0; i < mutations; ++i)
            run(target, mutate(seeds, random));
    }
    return 0;
}
