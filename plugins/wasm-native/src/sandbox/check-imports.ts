import type { ModuleShape } from './module-shape.ts'
import { Refusal } from './refusal.ts'

/** Modules of imports that WASI and WASIX have, in all their versions. */
const system = /^wasix?(_|$)/

/**
 * Checks that a module can be given what it imports.
 *
 * @throws Refusal that names the first import that isn't there
 */
export function checkImports({ imports }: ModuleShape): void {
  const unknown = imports.find(
    ({ module, name, kind }) => module !== 'env' || name !== 'abort' || kind !== 'function',
  )
  if (unknown === undefined) return
  const hint = imports.some(({ module }) => system.test(module))
    ? 'Programs for WASI are run by POST /api/wasm/run.'
    : 'There are no imports but AssemblyScript\'s function "env.abort".'
  throw new Refusal(
    'VALIDATION_ERROR',
    `The module imports the ${unknown.kind} "${shortened(unknown.module)}.${shortened(unknown.name)}". ${hint}`,
  )
}

/** A name for a message: names of imports may be as long as a module. */
function shortened(name: string): string {
  return name.length <= 100 ? name : `${name.slice(0, 100)}…`
}
