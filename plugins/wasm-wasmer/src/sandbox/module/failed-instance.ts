import { OutOfMemory, Refusal } from '../refusal.ts'
import type { ModuleImport } from '../web-assembly.ts'
import { unknownImport } from './program-check.ts'

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
  return new Refusal('VALIDATION_ERROR', 'The module cannot be instantiated.')
}
