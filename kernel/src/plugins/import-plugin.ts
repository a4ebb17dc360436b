import { pathToFileURL } from 'node:url'
import { isPlugin, type Plugin } from '@nodekeep/plugin-sdk'
import sdk from '@nodekeep/plugin-sdk/package.json' with { type: 'json' }
import semver from 'semver'
import { messageOf, PluginFailure } from './failure.ts'
import type { PluginManifest } from './manifest.ts'
import { duration, withTimeLimit } from './time-limit.ts'

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
 * @throws PluginFailure in the phase `sdk`, `import` (the module threw, hung, or lacks a dependency) or `shape`
 */
export async function importPlugin(manifest: PluginManifest, timeoutMs: number): Promise<Plugin> {
  checkSdkRange(manifest)
  const plugin = defaultExport(await importModule(manifest, timeoutMs))
  if (!isPlugin(plugin)) {
    throw new PluginFailure(
      'shape',
      `The default export of ${name(manifest)} is not a plugin. Export what definePlugin returns, as default.`,
    )
  }
  if (plugin.id !== manifest.id) {
    throw new PluginFailure(
      'shape',
      `${name(manifest)} says "${manifest.id}" in its manifest and "${plugin.id}" in definePlugin. Make them the same.`,
    )
  }
  return plugin
}

async function importModule(manifest: PluginManifest, timeoutMs: number): Promise<Record<string, unknown>> {
  const late = `Importing ${name(manifest)} took longer than ${duration(timeoutMs)} (loader.importTimeoutMs).`
  try {
    return await withTimeLimit(import(pathToFileURL(manifest.entry).href), timeoutMs, late)
  } catch (error) {
    throw new PluginFailure('import', whyImportFailed(manifest, error), error)
  }
}

/** A CommonJS package that was compiled from an ES module carries its default export one level deeper. */
function defaultExport(module: Record<string, unknown>): unknown {
  const exported = module.default
  if (isPlugin(exported) || typeof exported !== 'object' || exported === null) return exported
  return 'default' in exported ? exported.default : exported
}

function whyImportFailed(manifest: PluginManifest, error: unknown): string {
  const message = messageOf(error).split('\n')[0] ?? ''
  const missing = /^Cannot find (?:package|module) '([^']+)'/.exec(message)?.[1]
  if (missing === undefined) return `${name(manifest)} threw while it was imported: ${message}`
  if (missing === manifest.entry || missing === pathToFileURL(manifest.entry).href) {
    return `${name(manifest)} names the entry ${manifest.entry}, which does not exist. Was the package built?`
  }
  return `${name(manifest)} needs "${missing}", which is not installed. Add it to its dependencies and install again.`
}

function name(manifest: PluginManifest): string {
  return `${manifest.packageName}@${manifest.version}`
}
