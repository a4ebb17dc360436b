/**
 * Lets all code of this thread import the SDK of this node, wherever the code is installed. A plugin beside a configuration may find no
 * SDK, or a copy of another version.
 *
 * Node applies hooks to one thread only. A worker thread of a plugin that would not find this SDK by itself imports this module first.
 */
import { findPackageJSON, registerHooks, syncBuiltinESMExports } from 'node:module'
import { pathToFileURL } from 'node:url'
import threads, { type WorkerOptions } from 'node:worker_threads'

const sdk = '@nodekeep/plugin-sdk'
const ownManifest = findPackageJSON(sdk, import.meta.url)

registerHooks({
  resolve(specifier, context, nextResolve) {
    const isOther = specifier !== sdk && !specifier.startsWith(`${sdk}/`)
    if (isOther || context.parentURL === import.meta.url) return nextResolve(specifier, context)
    // For `require`, `nextResolve` would ignore another parent.
    return { url: ownModule(specifier), shortCircuit: true }
  },
})

/** Calls the hook again, with this module as the parent. */
function ownModule(specifier: string): string {
  try {
    return import.meta.resolve(specifier)
  } catch (cause) {
    throw new Error(`The SDK of this node has no "${specifier}".`, { cause })
  }
}

const { Worker } = threads

class PluginWorker extends Worker {
  constructor(file: string | URL, options: WorkerOptions = {}) {
    super(file, findsOwnSdk(file, options) ? options : { ...options, execArgv: withThisModule(options) })
  }
}

Object.defineProperty(PluginWorker, 'name', { value: Worker.name })
threads.Worker = PluginWorker
syncBuiltinESMExports()

function findsOwnSdk(file: string | URL, { eval: isCode }: WorkerOptions): boolean {
  if (isCode === true) return false
  try {
    return findPackageJSON(sdk, file instanceof URL ? file : pathToFileURL(file)) === ownManifest
  } catch {
    // Node throws if nothing is there.
    return false
  }
}

/** Node refuses a thread with options of a whole process, so of the options of this process the thread gets only those it needs. */
function withThisModule({ execArgv = [] }: WorkerOptions): string[] {
  const conditions = process.execArgv.filter((option) => option.startsWith('--conditions='))
  return [...conditions, ...execArgv, `--import=${import.meta.url}`]
}
