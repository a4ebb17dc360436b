import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { messageOf } from '../errors/thrown.ts'
import { PluginFailure } from './failure.ts'

/** What a package says of its plugin, known without running any of its code. */
export interface PluginManifest {
  /** `name` and `version` of the package. */
  readonly packageName: string
  readonly version: string
  /** The plugin's id, `nodekeep.id`. */
  readonly id: string
  /** The range of SDK versions that the plugin works with, `nodekeep.sdk`. */
  readonly sdk: string
  /** The name of its configuration section, `nodekeep.section`; the id when nothing is said. */
  readonly section: string
  /** Absolute path of the package; empty for a plugin that came without one. */
  readonly folder: string
  /** Absolute path of the module whose default export is the plugin. */
  readonly entry: string
}

/** Whether this kernel itself runs from its sources, as in a checkout of the repository. */
const fromSources = import.meta.url.endsWith('.ts')

const idPattern = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/

/**
 * Reads the manifest of a plugin's package.
 *
 * `nodekeep.entry` and `nodekeep.source` are paths within the package. `source` takes the place of `entry` when
 * the node runs from sources and the package is not an installed one, since Node strips no types there.
 *
 * @param path absolute path of the package's package.json
 * @throws PluginFailure in the phase `manifest`
 */
export async function readManifest(path: string): Promise<PluginManifest> {
  const content = await readPackage(path)
  const fields = content.nodekeep
  if (!isRecord(fields)) {
    throw new PluginFailure('manifest', `${path} has no "nodekeep" field, so it is no Nodekeep plugin.`)
  }
  const text = (field: string): string => {
    const value = fields[field]
    if (typeof value === 'string' && value !== '') return value
    throw new PluginFailure('manifest', `${path}: "nodekeep.${field}" must be a text that is not empty.`)
  }
  const id = text('id')
  if (!idPattern.test(id)) {
    throw new PluginFailure('manifest', `${path}: "nodekeep.id" must be lower case words joined by dashes.`)
  }
  const folder = dirname(path)
  const useSource = fromSources && 'source' in fields && !folder.includes('node_modules')
  return {
    packageName: typeof content.name === 'string' ? content.name : id,
    version: typeof content.version === 'string' ? content.version : '0.0.0',
    id,
    sdk: text('sdk'),
    section: 'section' in fields ? text('section') : id,
    folder,
    entry: resolve(folder, text(useSource ? 'source' : 'entry')),
  }
}

async function readPackage(path: string): Promise<Record<string, unknown>> {
  try {
    const content: unknown = JSON.parse(await readFile(path, 'utf8'))
    return isRecord(content) ? content : {}
  } catch (error) {
    throw new PluginFailure('manifest', `${path} cannot be read: ${messageOf(error)}`, error)
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
