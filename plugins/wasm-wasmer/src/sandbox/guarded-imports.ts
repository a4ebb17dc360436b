import { systems } from './module/program-check.ts'
import type { Imports } from './web-assembly.ts'

/** WASI's errno for what is not supported. */
const notSupported = 58

/** The SDK would keep links in folders for itself: the program would see them, and nothing of them be stored. */
const refused = ['path_link', 'path_symlink']

/**
 * The imports that the SDK gives a program, but for what must not be, and with what the SDK doesn't tell.
 *
 * @param exiting is told the code that the program exits with, of which the SDK keeps only a part
 */
export function guardedImports(imports: Imports, exiting: (code: number) => void): Imports {
  return Object.fromEntries(
    Object.entries(imports).map(([module, functions]) => [
      module,
      systems.includes(module) ? guardedSystem(functions, exiting) : functions,
    ]),
  )
}

function guardedSystem(functions: Imports[string], exiting: (code: number) => void): Imports[string] {
  const guarded = { ...functions }
  for (const name of refused) if (name in functions) guarded[name] = () => notSupported
  const { proc_exit: exit } = functions
  if (typeof exit !== 'function') return guarded
  guarded.proc_exit = (code: number) => {
    exiting(code >>> 0)
    exit(code)
  }
  return guarded
}
