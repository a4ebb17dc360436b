/** The parts of https://webassembly.github.io/spec/js-api/ in use here. TypeScript declares them only for browsers. */
interface WebAssemblyInterface {
  instantiate(bytes: Uint8Array): Promise<{ readonly instance: { readonly exports: Exports } }>
}

type Exports = Readonly<Record<string, () => number | bigint>>

/** Returns the functions of a module without imports. The functions take no arguments. */
export async function functionsOf(bytes: Uint8Array): Promise<Exports> {
  const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyInterface }
  return (await WebAssembly.instantiate(bytes)).instance.exports
}
