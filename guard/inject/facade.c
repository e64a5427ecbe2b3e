/* A library of the driver's as a container finds it, where the guard stands in the driver's place:
 * nothing but a name. Its needs are the guard and the driver's own library, in this order, and so a
 * symbol is looked up: ours first, and in the driver's whatever we lack. */
extern const char tessera_facade[];
const char tessera_facade[] = "guarded";
