import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { loadConfiguration } from '../../src/configuration/configuration.ts'
import { ConfigurationError } from '../../src/configuration/error.ts'
import type { ConfigurationSources } from '../../src/configuration/layers.ts'

/** Files below a temporary folder of a test, and the other layers of a configuration. */
interface Given extends Partial<Omit<ConfigurationSources, 'workingDirectory'>> {
  /** Files below the folder by their paths. `node.json` is the configuration. */
  readonly files?: Readonly<Record<string, string>>
}

/** Loads a configuration from files in a folder, such as that of `t.testdir()`. Without files and object, it loads no file. */
export async function load(folder: string, { files, ...given }: Given) {
  for (const [path, text] of Object.entries(files ?? {})) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  const file = files ? 'node.json' : null
  return loadConfiguration({ file, environment: {}, flags: {}, workingDirectory: folder, ...given })
}

/** Returns the reference to a variable, such as `${NAME}`. */
export function reference(name: string): string {
  return `\${${name}}`
}

/** Returns the lines of the error that an action throws for a configuration. */
export async function problemsOf(action: () => unknown): Promise<readonly string[]> {
  try {
    await action()
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems
    throw error
  }
  throw new Error('There should have been a ConfigurationError.')
}
