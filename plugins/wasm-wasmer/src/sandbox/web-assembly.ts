/** The parts of https://webassembly.github.io/spec/js-api/ that are used here. TypeScript declares them for browsers only. */
interface WebAssemblyInterface {
  readonly Module: (new (
    bytes: Uint8Array,
  ) => object) & {
    exports(module: object): ModuleExport[]
    imports(module: object): ModuleImport[]
  }
  Instance: new (module: object, imports?: Imports) => object
}

/** The imports of an instance, by module and name. Functions are JavaScript functions. */
export type Imports = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** An export of a module. */
export interface ModuleExport {
  readonly name: string
  readonly kind: string
}

/** An import of a module. */
export interface ModuleImport extends ModuleExport {
  readonly module: string
}

export const webAssembly = (globalThis as unknown as { readonly WebAssembly: WebAssemblyInterface })
  .WebAssembly
