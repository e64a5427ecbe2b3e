/* A program that does nothing; built with a sanitizer it looks up much of libc before its main. */
int main(void) { return 0; }
