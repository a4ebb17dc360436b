import { isAbsolute } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isPlugin, type Plugin, withTimeLimit } from '@nodekeep/plugin-sdk'
import sdk from '@nodekeep/plugin-sdk/package.json' with { type: 'json' }
import semver from 'semver'
import { messageOf } from '../errors/thrown.ts'
import { duration } from './duration.ts'
import { PluginFailure } from './failure.ts'
import type { PluginManifest } from './manifest.ts'
import { checkPlugin } from './plugin-shape.ts'

/** The version of the SDK that this kernel implements. */
export const sdkVersion: string = sdk.version

/** Refuses a plugin that was made for another SDK, before any of its code runs. */
export function checkSdkRange(manifest: PluginManifest): void {
  if (semver.validRange(manifest.sdk) === null) {
    throw new PluginFailure(
      'sdk',
      `"nodekeep.sdk" of ${name(manifest)} is "${manifest.sdk}", which is no version range.`,
    )
  }
  if (!semver.satisfies(sdkVersion, manifest.sdk, { includePrerelease: true })) {
    throw new PluginFailure(
      'sdk',
      `${name(manifest)} works with SDK ${manifest.sdk}, and this node has SDK ${sdkVersion}. ` +
        'Install a version of the plugin that fits the node, or update the node.',
    )
  }
}

/**
 * Imports a plugin's module and checks what it exports.
 *
 * @throws PluginFailure in the phase `sdk`, `dependency` (something that it imports is not installed), `import`
 * (the module threw or hung) or `shape`
 */
export async function importPlugin(manifest: PluginManifest, timeoutMs: number): Promise<Plugin> {
  checkSdkRange(manifest)
  return checkPlugin(defaultExport(await importModule(manifest, timeoutMs)), manifest, name(manifest))
}

async function importModule(manifest: PluginManifest, timeoutMs: number): Promise<Record<string, unknown>> {
  const late = `Importing ${name(manifest)} took longer than ${duration(timeoutMs)} (loader.importTimeoutMs).`
  try {
    return await withTimeLimit(import(pathToFileURL(manifest.entry).href), timeoutMs, late)
  } catch (error) {
    throw importFailure(manifest, error)
  }
}

/** A CommonJS package that was compiled from an ES module carries its default export one level deeper. */
function defaultExport(module: Record<string, unknown>): unknown {
  const exported = module.default
  if (isPlugin(exported) || typeof exported !== 'object' || exported === null) return exported
  return 'default' in exported ? exported.default : exported
}

function importFailure(manifest: PluginManifest, error: unknown): PluginFailure {
  const message = messageOf(error).split('\n')[0] ?? ''
  const missing = isNotFound(error) ? missingModule(message) : undefined
  if (missing === undefined) {
    return new PluginFailure('import', `${name(manifest)} threw while it was imported: ${message}`, error)
  }
  if (missing === manifest.entry) {
    const problem = `${name(manifest)} names the entry ${missing}, which does not exist. Was the package built?`
    return new PluginFailure('import', problem, error)
  }
  const advice =
    isAbsolute(missing) || missing.startsWith('.')
      ? `needs its file ${missing}, which does not exist. Was the package built, and published whole?`
      : `needs "${missing}", which is not installed. Add it to its dependencies and install again.`
  return new PluginFailure('dependency', `${name(manifest)} ${advice}`, error)
}

function isNotFound(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
}

/** What the message of Node's module loader says is missing: a package's name, or a path. */
function missingModule(message: string): string | undefined {
  const missing = /^Cannot find (?:package|module) '([^']+)'/.exec(message)?.[1]
  return missing?.startsWith('file:') ? fileURLToPath(missing) : missing
}

function name(manifest: PluginManifest): string {
  return `${manifest.packageName}@${manifest.version}`
}
