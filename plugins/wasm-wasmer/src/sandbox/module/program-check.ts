import { OutOfMemory, Refusal } from '../refusal.ts'
import { type ModuleExport, type ModuleImport, webAssembly } from '../web-assembly.ts'

/** Modules of imports that Wasmer provides: WASI and WASIX. */
export const systems = ['wasi_snapshot_preview1', 'wasi_unstable', 'wasi', 'wasix_32v1', 'wasix_64v1']

/**
 * Checks that a module is a program, as far as that shows before it runs. Wasmer accepts modules that it cannot run.
 *
 * @returns what it imports
 * @throws Refusal
 * @throws OutOfMemory when the initial memory exceeds the limit
 */
export function checkProgram(bytes: Buffer): readonly ModuleImport[] {
  const module = compile(bytes)
  const exports = webAssembly.Module.exports(module)
  const imports = webAssembly.Module.imports(module)
  if (!exports.some(({ name, kind }) => name === '_start' && kind === 'function')) {
    throw invalid(
      'The module is no WASI program: it exports no function "_start". Functions are called by other endpoints.',
    )
  }
  if (![...imports, ...exports].some(isMemory)) {
    throw invalid('The module is no WASI program: it has no memory that it exports as "memory".')
  }
  const unknown = imports.find((each) => !isMemory(each) && !systems.includes(each.module))
  if (unknown !== undefined) throw unknownImport(unknown)
  return imports
}

/**
 * Why a module could not be instantiated, from the error that V8 threw.
 *
 * @param error the name of its class, and its message
 * @param imports those of the module
 */
export function failedInstance([name, message]: readonly unknown[], imports: readonly ModuleImport[]): Error {
  const text = String(message)
  if (name === 'RuntimeError') return new Refusal('UNPROCESSABLE', `The program trapped: ${text}.`)
  if (name === 'RangeError' && /memory|table/i.test(text)) return new OutOfMemory()
  if (name === 'RangeError') return new Refusal('UNPROCESSABLE', `The program trapped: ${text}.`)
  const missing = imports[Number(/Import #(\d+)/.exec(text)?.[1])]
  if (missing !== undefined) return unknownImport(missing)
  return invalid('The module cannot be instantiated.')
}

function unknownImport({ module, name }: ModuleImport): Refusal {
  return invalid(`The module imports "${module}.${name}". There are no imports but those of WASI and WASIX.`)
}

function compile(bytes: Buffer): object {
  try {
    return new webAssembly.Module(bytes)
  } catch (error) {
    // Leaves out the first bytes, which V8 shows: a file that is not a module stays secret.
    const said = String((error as Error).message)
      .replace(/^WebAssembly\.Module\(\): /, '')
      .replace(/(magic word [^,]*), found .*/, '$1')
    const reason = bytes.length === 0 ? 'it is empty' : said
    if (/^initial (memory|table) size/.test(reason)) throw new OutOfMemory()
    throw invalid(`The module is not valid WebAssembly: ${reason}.`)
  }
}

function isMemory({ name, kind }: ModuleExport): boolean {
  return kind === 'memory' && name === 'memory'
}

function invalid(message: string): Refusal {
  return new Refusal('VALIDATION_ERROR', message)
}
