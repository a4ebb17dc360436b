/** What is used here of https://webassembly.github.io/spec/js-api/. TypeScript knows it of browsers only. */
interface WebAssemblyInterface {
  readonly Module: (new (
    bytes: Uint8Array,
  ) => object) & {
    exports(module: object): ModuleExport[]
    imports(module: object): ModuleImport[]
  }
  Instance: new (module: object, imports?: Imports) => object
}

/** What a module is given, by module and name. What is a function stands as one. */
export type Imports = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** What a module exports. */
export interface ModuleExport {
  readonly name: string
  readonly kind: string
}

/** What a module imports. */
export interface ModuleImport extends ModuleExport {
  readonly module: string
}

export const webAssembly = (globalThis as unknown as { readonly WebAssembly: WebAssemblyInterface })
  .WebAssembly
