import { residentBytes } from './process-figures.ts'
import type { Sandbox } from './sandbox.ts'

/** What a sandbox takes beside the memories and tables of modules, with what is left of them for a moment. */
const ownBytes = 160 * 2 ** 20
/** What it takes when it has nothing to do. */
const idleBytes = 128 * 2 ** 20
/** What a module takes while it is loaded, in multiples of its size, with the code that it becomes. */
const moduleShare = 3

/** Whether a sandbox has more memory than its limit allows. Known on Linux only; elsewhere V8's own bounds hold. */
export function takesTooMuch(sandbox: Sandbox): boolean {
  return resident(sandbox) > sandbox.memoryBytes + ownBytes + moduleShare * sandbox.modules.bytes
}

/** Whether an idle sandbox has so much left of what it did that the next run would suffer for it. */
export function isBloated(sandbox: Sandbox): boolean {
  return resident(sandbox) > idleBytes + moduleShare * sandbox.modules.bytes
}

function resident(sandbox: Sandbox): number {
  return residentBytes(sandbox.process.pid) ?? 0
}
