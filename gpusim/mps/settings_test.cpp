// Goal: values are read and shown as the vendor's programs of drivers 535 and 550 did.
#include "gpusim/mps/settings.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace gpusim::mps {
namespace {

TEST(MpsSettings, PercentagesAreAboveZeroAndUpTo100) {
    const struct {
        const char* text;
        double then;
    } rows[] = {{"25", 25},    {"33.3", 33.3}, {"100", 100}, {"1e1", 10}, {"12abc", 12},
                {"0x10", 16},  {".5", .5},     {"+7", 7},    {"0", 50},   {"-5", 50},
                {"100.1", 50}, {"nan", 50},    {"inf", 50},  {"", 50},    {"abc", 50}};
    for (const auto& row : rows) {
        Settings settings;
        settings.active_thread_percentage = 50;
        set_active_thread_percentage(settings, row.text);
        EXPECT_DOUBLE_EQ(settings.active_thread_percentage, row.then) << row.text;
    }
}

TEST(MpsSettings, LimitsAreShownInWholeUnits) {
    const struct {
        const char* text;
        const char* shown;
    } rows[] = {{"3G", "3G"},
                {"3072M", "3G"},
                {"1500M", "1G"},
                {"512M", "512M"},
                {"3", "3M"},
                {"1.5G", "1M"},
                {"3T", "3M"},
                {"4g", "4G"},
                {"5GB", "5G"},
                {"5MB", "5M"},
                {"1024K", "1G"},
                {"0M", "0M"},
                {"0x10G", "0M"},
                {"xG", "0M"},
                {"", "0M"},
                {"2147483648G", "2147483648G"},
                {"-1G", "17179869183G"}};
    for (const auto& row : rows)
        EXPECT_STREQ(limit_text(parse_limit(row.text)).text, row.shown) << row.text;
}

TEST(MpsSettings, DevicesAreOrdinals) {
    const struct {
        const char* text;
        int device;
    } rows[] = {{"0", 0},   {"31", 31},  {"", 0},     {"32", -1},   {"-1", -1},
                {"1a", -1}, {"0x2", -1}, {"abc", -1}, {"GPU-0", -1}};
    for (const auto& row : rows)
        EXPECT_EQ(parse_device(row.text, kMaxDevices), row.device) << row.text;
    EXPECT_EQ(parse_device("2", 2), -1);
}

TEST(MpsSettings, PriorityIs0Or1) {
    Settings settings;
    EXPECT_EQ(set_client_priority(settings, "1abc"), Change::made);
    EXPECT_EQ(settings.client_priority, 1);
    EXPECT_EQ(set_client_priority(settings, "2"), Change::invalid);
    EXPECT_EQ(set_client_priority(settings, "-1"), Change::invalid);
    EXPECT_EQ(settings.client_priority, 1);
    EXPECT_EQ(set_client_priority(settings, ""), Change::made);
    EXPECT_EQ(settings.client_priority, 0);
}

TEST(MpsServers, AServerKeepsTheDefaultsOfItsStart) {
    Servers servers;
    Settings defaults;
    defaults.active_thread_percentage = 25;
    ASSERT_NE(servers.add(7, 1000, defaults), nullptr);
    defaults.active_thread_percentage = 50;
    ASSERT_NE(servers.add(8, 1001, defaults), nullptr);
    EXPECT_DOUBLE_EQ(servers.find(7)->settings.active_thread_percentage, 25);
    EXPECT_EQ(servers.find_of_user(1001)->pid, 8);
    servers.remove(7);
    EXPECT_EQ(servers.find(7), nullptr);
    EXPECT_EQ(servers.find(8)->uid, 1001U);
    EXPECT_EQ(servers.count, 1);
}

TEST(MpsServers, ThereIsALimit) {
    Servers servers;
    for (pid_t pid = 1; pid <= kMaxServers; pid++)
        ASSERT_NE(servers.add(pid, 0, {}), nullptr);
    EXPECT_EQ(servers.add(kMaxServers + 1, 0, {}), nullptr);
}

}  // namespace
}  // namespace gpusim::mps
