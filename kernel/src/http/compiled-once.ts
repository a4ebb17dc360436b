/**
 * Remembers what schemas were compiled to, each once for the whole process: routes share schemas, and apps that start again have the
 * same ones. Schemas are the same if their texts are, since many are made anew for each app.
 *
 * @returns returns what a schema was compiled to, and compiles it the first time
 */
export function compiledOnce<Compiled>(): (schema: object, compile: () => Compiled) => Compiled {
  const known = new Map<string, Compiled>()
  return (schema, compile) => {
    const text = JSON.stringify(schema)
    const found = known.get(text)
    if (found !== undefined) return found
    const compiled = compile()
    known.set(text, compiled)
    return compiled
  }
}
