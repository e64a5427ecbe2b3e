#include "programs/common/config.hpp"

#include <gtest/gtest.h>

#include <array>

#include "programs/common/yaml_text.hpp"

namespace tessera {
namespace {

constexpr auto kRows = std::to_array<ConfigRow>({
    {ConfigType::text, "listen", "127.0.0.1", 0, 0, "", "address to serve on"},
    {ConfigType::integer, "port", "12345", 1, 65535, "PORT", "port to serve on"},
    {ConfigType::integer, "offset", "0", -5, 5, "", "may be negative"},
    {ConfigType::flag, "verbose", "false", 0, 0, "VERBOSE", "say more"},
    {ConfigType::address, "door", "127.0.0.1", 0, 0, "", "address to serve on"},
    {ConfigType::address, "side_door", "", 0, 0, "", "another address to serve on"},
    {ConfigType::absolute_path, "folder", "/var", 0, 0, "", "where things lie"},
});

using Environment = std::map<std::string, std::string>;

Result<ConfigValues> resolve(const ConfigValues& flags, const ConfigValues& file,
                             const Environment& environment = {}) {
    return resolve_config(kRows, flags, file, [&](const char* name) -> const char* {
        const auto at = environment.find(name);
        return at == environment.end() ? nullptr : at->second.c_str();
    });
}

// Goal: the flag wins over the environment, the environment over the file, the file over the
// default. Method: take the sources away one by one.
TEST(Config, Precedence) {
    const Environment environment = {{"PORT", "3"}};
    EXPECT_EQ(resolve({{"port", "2"}}, {{"port", "4"}}, environment)->at("port"), "2");
    EXPECT_EQ(resolve({}, {{"port", "4"}}, environment)->at("port"), "3");
    EXPECT_EQ(resolve({}, {{"port", "4"}})->at("port"), "4");
    EXPECT_EQ(resolve({}, {})->at("port"), "12345");
    EXPECT_EQ(resolve({}, {{"port", "4"}}, {{"PORT", ""}})->at("port"), "4")
        << "an empty variable is none";
    EXPECT_EQ(resolve({{"listen", ""}}, {{"listen", "x"}})->at("listen"), "")
        << "an empty flag is a value";
    EXPECT_EQ(resolve({}, {})->size(), kRows.size());
}

// Goal: the error names every fault, not only the first, and says what is allowed.
TEST(Config, NamesEveryFault) {
    const auto refused = resolve({{"port", "0"}, {"verbose", "yes"}}, {{"offset", "6"}}, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::invalid_argument);
    EXPECT_EQ(refused.error().text,
              "port: \"0\" is not a whole number from 1 to 65535; "
              "offset: \"6\" is not a whole number from -5 to 5; "
              "verbose: \"yes\" is not true or false");
    for (const char* port :
         {"", "x", "1x", " 1", "1.0", "+1", "0x10", "65536", "-1", "99999999999999999999"})
        EXPECT_FALSE(resolve({{"port", port}}, {})) << port;
    for (const char* port : {"1", "65535", "080"})
        EXPECT_TRUE(resolve({{"port", port}}, {})) << port;
    EXPECT_FALSE(resolve({}, {}, {{"PORT", "x"}})) << "the environment is checked too";
}

// Goal: an invalid listen address or required path is refused before anything starts.
TEST(Config, AddressesAndPaths) {
    EXPECT_EQ(resolve({{"door", "node-a"}, {"folder", "run/x"}}, {}).error().text,
              "door: \"node-a\" is not an IPv4 or IPv6 address, nor localhost; "
              "folder: \"run/x\" is not a path that begins with /");
    for (const char* listen : {"", "300.0.0.1", "127.0.0.1:80", "[::1]", "0", " ::1"})
        EXPECT_FALSE(resolve({{"door", listen}}, {})) << listen;
    for (const char* listen : {"0.0.0.0", "::", "::1", "localhost"})
        EXPECT_TRUE(resolve({{"door", listen}}, {})) << listen;
    EXPECT_TRUE(resolve({{"side_door", ""}}, {})) << "as its default";
    EXPECT_FALSE(resolve({{"side_door", "node-a"}}, {}));
    EXPECT_FALSE(resolve({{"folder", ""}}, {}));
    EXPECT_TRUE(resolve({{"folder", "/"}}, {}));
}

// Goal: the file is a flat mapping of known keys. Method: a table of texts and the values, or a
// part of the error.
TEST(ConfigFile, ReadsAndRefuses) {
    const auto good = read_config_file(kRows, "port: 7\nlisten: \"::1\"\nverbose: true # yes\n");
    ASSERT_TRUE(good) << good.error().text;
    EXPECT_EQ(*good, (ConfigValues{{"port", "7"}, {"listen", "::1"}, {"verbose", "true"}}));
    EXPECT_EQ(read_config_file(kRows, "  # ours\n---\nport: 7\n...\n")->size(), 1U);
    EXPECT_EQ(read_config_file(kRows, "---\nlisten: ---7\n")->at("listen"), "---7");
    EXPECT_TRUE(read_config_file(kRows, "")->empty());
    EXPECT_TRUE(read_config_file(kRows, "# nothing\n")->empty());
    const std::vector<std::pair<std::string, std::string>> bad = {
        {"prot: 7", "prot: unknown key"},
        {"prot: 7\npolicy: x\nport: 1", "prot: unknown key; policy: unknown key"},
        {"port: 1\nlisten: a\nport: 1", "port: appears twice"},
        {"port: [1]", "port: needs a single value"},
        {"port: {a: 1}", "port: needs a single value"},
        {"port:", "port: needs a single value"},
        {"port: 1\n---\nlisten: a", "holds several YAML documents"},
        {"---\n--- # nothing above\nport: 1", "holds several YAML documents"},
        {"- port", "is not a mapping"},
        {"port", "is not a mapping"},
        {"? [a]\n: b", ""},
        {"port: &a [*a]", ""},
    };
    for (const auto& [text, part] : bad) {
        const auto refused = read_config_file(kRows, text);
        ASSERT_FALSE(refused) << text;
        EXPECT_EQ(refused.error().code, Code::invalid_argument);
        EXPECT_NE(refused.error().text.find(part), std::string::npos) << refused.error().text;
    }
    EXPECT_NE(read_config_file(kRows, "prot: 7").error().text.find("known keys: listen, port"),
              std::string::npos);
}

// Goal: the output of --print-config is a file with the same values. Method: values that YAML could
// take for another type.
TEST(ConfigFile, PrintedConfigComesBack) {
    for (const char* listen : {"127.0.0.1", "", "true", "null", "~", "0x1F", "a: b", "#", "\"'\\",
                               "two\nlines", "- x", "é", "1e3", " "}) {
        const ConfigValues values = *resolve({{"listen", listen}, {"offset", "-5"}}, {});
        const std::string text = print_config(kRows, values);
        EXPECT_NE(text.find("# port to serve on\nport: 12345\n"), std::string::npos) << text;
        const auto back = read_config_file(kRows, text);
        ASSERT_TRUE(back) << text << back.error().text;
        EXPECT_EQ(*back, values) << text;
    }
}

// Goal: -o yaml has the contents of the JSON, and strings stay strings.
TEST(YamlText, OfJson) {
    EXPECT_EQ(yaml_of_json(R"({"version":1,"a":[],"b":["true",true,"1",1],"c":{"d":""}})"),
              "version: 1\na: []\nb:\n  - \"true\"\n  - true\n  - \"1\"\n  - 1\nc:\n  d: \"\"\n");
}

}  // namespace
}  // namespace tessera
