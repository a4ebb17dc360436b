/** The parts of https://webassembly.github.io/spec/js-api/ that are used here. TypeScript declares them for browsers only. */
interface WebAssemblyInterface {
  readonly Module: new (bytes: Uint8Array) => CompiledModule
  readonly Instance: new (module: CompiledModule, imports?: Imports) => { readonly exports: Exports }
  readonly Memory: abstract new () => { readonly buffer: ArrayBuffer }
  readonly CompileError: ErrorConstructor
  readonly RuntimeError: ErrorConstructor
  readonly Exception: abstract new () => object
}

declare const compiled: unique symbol

/** A module that was compiled. */
export interface CompiledModule {
  readonly [compiled]: true
}

export type Imports = Readonly<Record<string, Readonly<Record<string, unknown>>>>
export type Exports = Readonly<Record<string, unknown>>

export const { Module, Instance, Memory, CompileError, RuntimeError, Exception } = (
  globalThis as unknown as { readonly WebAssembly: WebAssemblyInterface }
).WebAssembly
