/** What is used here of https://webassembly.github.io/spec/js-api/. TypeScript knows it of browsers only. */
interface WebAssemblyInterface {
  instantiate(bytes: Uint8Array): Promise<{ readonly instance: { readonly exports: Exports } }>
}

type Exports = Readonly<Record<string, () => number | bigint>>

/** The functions of a module that takes no arguments and needs no imports. */
export async function functionsOf(bytes: Uint8Array): Promise<Exports> {
  const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyInterface }
  return (await WebAssembly.instantiate(bytes)).instance.exports
}
