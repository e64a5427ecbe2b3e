// Goal: a mistake in CARDS.yaml is refused by field and line. Method: tables.
#include "gpusim/ctl/cards_file.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

namespace gpusim {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

tl::expected<std::vector<CardSpec>, std::string> parse(const std::string& text) {
    return parse_cards({text, "f.yaml", ""});
}

constexpr char kUuid[] = "GPU-01234567-89ab-cdef-0123-456789abcdef";

TEST(CardsFile, ReadsEveryField) {
    const auto cards =
        parse(std::string("cards:\n"
                          "  - model: Tesla T4\n"
                          "    memory: 16276MiB\n"
                          "    reserved: 450MiB\n"
                          "    uuid: GPU-01234567-89AB-cdef-0123-456789abcdef\n"
                          "    minor: 3\n"
                          "    pci_bus_id: 0001:3b:02.0\n"
                          "    compute_capability: 8.9\n"
                          "    context_overhead: 300MiB\n"));
    ASSERT_TRUE(cards) << cards.error();
    ASSERT_EQ(cards->size(), 1U);
    const CardSpec& card = cards->front();
    EXPECT_EQ(card.model, "Tesla T4");
    EXPECT_EQ(card.memory_bytes, std::uint64_t{16276} << 20);
    EXPECT_EQ(card.reserved_bytes, std::uint64_t{450} << 20);
    EXPECT_EQ(card.uuid, kUuid);
    EXPECT_EQ(card.minor, 3U);
    EXPECT_EQ(card.pci_domain, 1U);
    EXPECT_EQ(card.pci_bus, 0x3bU);
    EXPECT_EQ(card.pci_device, 2U);
    EXPECT_EQ(card.compute_major, 8);
    EXPECT_EQ(card.compute_minor, 9);
    EXPECT_EQ(card.context_overhead_bytes, std::uint64_t{300} << 20);
}

TEST(CardsFile, FillsInWhatIsLeftOut) {
    const std::string text = "cards: [{model: A, memory: 1GiB}, {model: B, memory: 2GiB}]\n";
    const auto cards = parse(text);
    ASSERT_TRUE(cards) << cards.error();
    EXPECT_EQ((*cards)[1].minor, 1U);
    EXPECT_EQ((*cards)[1].pci_bus, 17U);
    EXPECT_EQ((*cards)[1].reserved_bytes, 0U);
    EXPECT_EQ((*cards)[1].context_overhead_bytes, 0U);
    EXPECT_NE((*cards)[0].uuid, (*cards)[1].uuid);
    EXPECT_EQ((*cards)[0].uuid, (*parse(text))[0].uuid) << "generated UUIDs do not change";
    EXPECT_NE((*cards)[0].uuid, (*parse("seed: other\n" + text))[0].uuid);
    EXPECT_EQ((*parse("seed: other\n" + text))[0].uuid,
              (*parse_cards({text, "f.yaml", "other"}))[0].uuid);
}

TEST(CardsFile, Links) {
    const auto cards = parse(
        "cards:\n  - {model: A, memory: 1GiB, numa: 1, pcie_switch: 2, nvlink: 0}\n"
        "  - {model: A, memory: 1GiB}\n");
    ASSERT_TRUE(cards) << cards.error();
    EXPECT_EQ((*cards)[0].numa, 1U);
    EXPECT_EQ((*cards)[0].pcie_switch, 2U);
    EXPECT_EQ((*cards)[0].nvlink, 0U);
    EXPECT_EQ((*cards)[1].numa, 0U);
    EXPECT_EQ((*cards)[1].pcie_switch, kNone);
    EXPECT_EQ((*cards)[1].nvlink, kNone);
}

TEST(CardsFile, RefusesByFieldAndLine) {
    const std::string two = "cards:\n  - {model: A, memory: 1GiB, ";
    const std::string more = "}\n  - {model: B, memory: 1GiB, ";
    std::string many = "cards:\n";
    for (int i = 0; i < 65; i++)
        many += "  - {model: A, memory: 1GiB}\n";
    const struct {
        std::string text;
        std::string message;
    } rows[] = {
        {"", "f.yaml:1: cards: is missing"},
        {"[1]", "f.yaml:1: cards: is missing"},
        {"seed: x\n", "f.yaml:1: cards: is missing"},
        {"cards:\n", "cards: wants at least one card"},
        {"cards: []\n", "f.yaml:1: cards: wants at least one card"},
        {"cards: {a: b}\n", "f.yaml:1: cards: wants at least one card"},
        {"cards: [7]\n", "f.yaml:1: cards: wants a list of maps"},
        {"\ncards: [{model: A, memory: 1GiB}]\ngpus: 1\n", "f.yaml:3: gpus: unknown key"},
        {many, "cards: 65 cards, at most 64"},
        {"cards:\n  - model: A\n", "f.yaml:2: memory: is missing"},
        {"cards:\n  - memory: 1GiB\n", "f.yaml:2: model: is missing"},
        {"cards:\n  - model: A\n    memory: 1GB\n", "f.yaml:3: memory: \"1GB\" is no size"},
        {"cards:\n  - model: A\n    memory: -1\n", "f.yaml:3: memory: \"-1\" is no size"},
        {"cards:\n  - model: A\n    memory: 0\n", "f.yaml:3: memory: is zero"},
        {"cards:\n  - model: A\n    memory: [1]\n", "f.yaml:3: memory: wants one plain value"},
        {"cards:\n  - model: ''\n    memory: 1\n", "f.yaml:2: model: wants one plain value"},
        {"cards:\n  - model: " + std::string(96, 'x') + "\n    memory: 1\n", "model: is too long"},
        {"cards:\n  - model: A\n    memory: 1GiB\n    colour: red\n",
         "f.yaml:4: colour: unknown key"},
        {"cards:\n  - model: A\n    memory: 1GiB\n    memory: 2GiB\n",
         "f.yaml:4: memory: appears twice"},
        {two + "reserved: 1GiB}", "f.yaml:2: reserved: leaves no memory"},
        {two + "uuid: GPU-1}", "f.yaml:2: uuid: \"GPU-1\" is not like GPU-xxxxxxxx"},
        {two + "uuid: GPU-g1234567-89ab-cdef-0123-456789abcdef}", "uuid: \"GPU-g"},
        {two + "uuid: " + kUuid + more + "uuid: " + kUuid + "}",
         "f.yaml:3: uuid: another card has GPU-0"},
        {two + "minor: 1" + more + "}", "f.yaml:3: minor: another card has 1"},
        {two + "minor: 1" + more + "minor: 1}", "f.yaml:3: minor: another card has 1"},
        {two + "minor: 256}", "minor: \"256\" is not a number from 0 to 255"},
        {two + "minor: -1}", "minor: \"-1\" is not a number"},
        {two + "minor: 1x}", "minor: \"1x\" is not a number"},
        {two + "numa: 64}", "numa: \"64\" is not a number from 0 to 63"},
        {two + "pcie_switch: a}", "pcie_switch: \"a\" is not a number from 0 to 255"},
        {two + "nvlink: [0, 1]}", "nvlink: wants one plain value"},
        {two + "event_clock_fast_ppm: 10000}", "\"10000\" is not a number from 0 to 9999"},
        {two + "pci_bus_id: '17'}", "pci_bus_id: \"17\" is not like 0000:17:00.0"},
        {two + "pci_bus_id: '0000:11:00.0'" + more + "}", "f.yaml:3: pci_bus_id: another card has"},
        {two + "compute_capability: seven}", "compute_capability: \"seven\" is not like 7.5"},
        {two + "context_overhead: lots}", "context_overhead: \"lots\" is no size"},
        {"cards: [", "f.yaml:"},
    };
    for (const auto& row : rows) {
        const auto cards = parse(row.text);
        ASSERT_FALSE(cards) << row.text;
        EXPECT_THAT(cards.error(), StartsWith("f.yaml:")) << row.text;
        EXPECT_THAT(cards.error(), HasSubstr(row.message)) << row.text;
    }
}

TEST(CardsFile, SamplesAreGood) {
    const struct {
        const char* name;
        std::size_t count;
    } samples[] = {{"two-15gib.yaml", 2},
                   {"15-and-24gib.yaml", 2},
                   {"eight-80gib.yaml", 8},
                   {"four-in-pairs.yaml", 4}};
    for (const auto& sample : samples) {
        std::ifstream in(std::string(TESSERA_SOURCE_DIR "/gpusim/cards/") + sample.name);
        const auto cards = parse(std::string{std::istreambuf_iterator<char>(in), {}});
        ASSERT_TRUE(cards) << sample.name << ": " << cards.error();
        EXPECT_EQ(cards->size(), sample.count) << sample.name;
    }
}

}  // namespace
}  // namespace gpusim
