/**
 * Remembers what schemas were compiled to, each once for the whole process: apps that start again have the same schemas. The text of a
 * schema is compared, since a plugin may change its schema.
 *
 * @returns returns what a schema was compiled to, and compiles it the first time
 */
export function compiledOnce<Compiled>(): (schema: object, compile: () => Compiled) => Compiled {
  const known = new WeakMap<object, { readonly text: string; readonly compiled: Compiled }>()
  return (schema, compile) => {
    const text = JSON.stringify(schema)
    const found = known.get(schema)
    if (found?.text === text) return found.compiled
    const compiled = compile()
    known.set(schema, { text, compiled })
    return compiled
  }
}
