/** Things that all code of the process shares and that nobody expects to change, each with what is compared. */
const shared: Readonly<Record<string, () => unknown>> = {
  fetch: () => globalThis.fetch,
  'JSON.parse': () => JSON.parse,
  'JSON.stringify': () => JSON.stringify,
  'Object.prototype': () => Reflect.ownKeys(Object.prototype).map(String).join(),
  'Array.prototype': () => Reflect.ownKeys(Array.prototype).map(String).join(),
  'process.env': () => Object.keys(process.env).length === 0,
  'the working directory': workingDirectory,
}

let known = look()

/** Returns what has changed since the last call, for people: `It changed fetch. …`. */
export function changedGlobals(): string[] {
  const before = known
  known = look()
  const changed = Object.keys(shared).filter((name) => known.get(name) !== before.get(name))
  return changed.map((name) => `It changed ${name}. The node and all plugins share it.`)
}

function look(): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(shared).map(([name, read]) => [name, read()]))
}

/** The working directory may be removed while a process runs in it. */
function workingDirectory(): string | null {
  try {
    return process.cwd()
  } catch {
    return null
  }
}
