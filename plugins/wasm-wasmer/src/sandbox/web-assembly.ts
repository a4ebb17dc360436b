/** The parts of https://webassembly.github.io/spec/js-api/ that are used here. TypeScript declares them for browsers only. */
interface WebAssemblyInterface {
  readonly Module: (new (
    bytes: Uint8Array,
  ) => object) & {
    exports(module: object): ModuleExport[]
    imports(module: object): ModuleImport[]
  }
  Instance: new (module: object, imports?: Imports) => { readonly exports: Readonly<Record<string, unknown>> }
  readonly Memory: new (...given: never) => Memory
}

/** The imports of an instance, by module and name. Functions are JavaScript functions. */
export type Imports = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** A memory of an instance. */
export interface Memory {
  readonly buffer: ArrayBuffer | SharedArrayBuffer
}

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
