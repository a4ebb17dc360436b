import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { isAbsolute, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { messageOf, type Plugin, withTimeLimit } from '@nodekeep/plugin-sdk'
import { isPlugin, isToken } from '@nodekeep/plugin-sdk/host'
import sdk from '@nodekeep/plugin-sdk/package.json' with { type: 'json' }
import semver from 'semver'
import { stackOf } from '../errors/error-text.ts'
import { frameIn } from '../faults/fault-context.ts'
import { duration, PluginFailure } from './failure.ts'
import './own-sdk.ts'
import type { PluginManifest } from './plugin-manifest.ts'

/** The version of the SDK that this kernel implements. */
const sdkVersion: string = sdk.version

/**
 * Imports a plugin's module and checks its default export. A plugin for another SDK is refused before any of its code
 * runs.
 *
 * @throws PluginFailure in the phase `sdk`, `dependency` (a package that it imports is not installed), `import` (the
 * module threw or hung) or `shape`
 */
export async function importPlugin(manifest: PluginManifest, timeoutMs: number): Promise<Plugin> {
  checkSdkRange(manifest)
  return checkPlugin(defaultExport(await importModule(manifest, timeoutMs)), manifest)
}

function checkSdkRange(manifest: PluginManifest): void {
  if (semver.validRange(manifest.sdk) === null) {
    throw new PluginFailure(
      'sdk',
      `"nodekeep.sdk" of ${name(manifest)} is "${manifest.sdk}", which is not a version range.`,
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

async function importModule(manifest: PluginManifest, timeoutMs: number): Promise<Record<string, unknown>> {
  const late = `Importing ${name(manifest)} took longer than ${duration(timeoutMs)} (loader.importTimeoutMs).`
  try {
    return await withTimeLimit(import(pathToFileURL(manifest.entry).href), timeoutMs, late)
  } catch (error) {
    throw await importFailure(manifest, error)
  }
}

/** A CommonJS package that was compiled from an ES module has its default export one level deeper. */
function defaultExport(module: Record<string, unknown>): unknown {
  const exported = module.default
  if (isPlugin(exported) || typeof exported !== 'object' || exported === null) return exported
  return 'default' in exported ? exported.default : exported
}

async function importFailure(manifest: PluginManifest, error: unknown): Promise<PluginFailure> {
  const message = messageOf(error).split('\n')[0] ?? ''
  const missing = isNotFound(error) ? missingModule(message) : undefined
  if (missing === undefined) {
    const place = await placeOf(manifest, error)
    const problem = `${name(manifest)} threw while it was imported: ${message}${place === null ? '' : ` (${place})`}`
    return new PluginFailure('import', problem, error)
  }
  if (missing === manifest.entry) {
    const problem = `${name(manifest)} names the entry ${missing}, which does not exist. Was the package built?`
    return new PluginFailure('import', problem, error)
  }
  const from = / imported from (.+)$/.exec(message)?.[1]
  const importer = from === undefined ? '' : ` (imported by ${relative(manifest.folder, from)})`
  const advice =
    isAbsolute(missing) || missing.startsWith('.')
      ? `needs its file ${missing}${importer}, which does not exist. Was the package built, and published whole?`
      : `needs "${missing}"${importer}, which is not installed. Add it to its dependencies and install again.`
  return new PluginFailure('dependency', `${name(manifest)} ${advice}`, error)
}

/**
 * Returns the place in a package where an import failed, such as `src/index.js:3`; `null` if nothing tells it.
 *
 * The stack of a SyntaxError may name no file of the package, since Node's loader throws it. Then Node checks the files.
 */
async function placeOf({ folder, entry }: PluginManifest, error: unknown): Promise<string | null> {
  const inStack = frameIn(folder, stackOf(error))
  if (inStack !== null || !(error instanceof SyntaxError)) return inStack?.place ?? null
  for (const file of [entry, ...(await scriptsOf(folder))].slice(0, mostChecked)) {
    const findings = await syntaxErrorsOf(file)
    if (findings.includes(`SyntaxError: ${error.message}`)) return frameIn(folder, findings)?.place ?? null
  }
  return null
}

/** Files of a package that are checked for the one with a syntax error. A check takes some 40 ms. */
const mostChecked = 100

async function scriptsOf(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true })
  const scripts = names.filter((name) => /\.[cm]?js$/.test(name) && !name.includes('node_modules'))
  return scripts.map((name) => join(folder, name))
}

/** Returns what `node --check` prints about a file: the place, the line, and the error; nothing if all is well. */
function syntaxErrorsOf(file: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['--check', file], { env: {} }, (_error, _stdout, stderr) => resolve(stderr))
  })
}

function isNotFound(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
}

/** Returns the missing package or path that a message of Node's module loader names. */
function missingModule(message: string): string | undefined {
  const missing = /^Cannot find (?:package|module) '([^']+)'/.exec(message)?.[1]
  return missing?.startsWith('file:') ? fileURLToPath(missing) : missing
}

function name(manifest: PluginManifest): string {
  return `${manifest.packageName}@${manifest.version}`
}

function checkPlugin(exported: unknown, manifest: PluginManifest): Plugin {
  if (!isPlugin(exported) || !isComplete(exported)) {
    throw new PluginFailure(
      'shape',
      `The default export of ${name(manifest)} is not a plugin. Export the result of definePlugin as default.`,
    )
  }
  if (exported.id !== manifest.id) {
    throw new PluginFailure(
      'shape',
      `${name(manifest)} has the id "${manifest.id}" in its manifest and "${exported.id}" in definePlugin. Make them the same.`,
    )
  }
  return exported
}

/** Tells whether a plugin has all fields that `definePlugin` sets: the brand alone can be forged. */
function isComplete({ setup, ...lists }: Plugin): boolean {
  const maps = [lists.requires, lists.optional, lists.contributes, lists.provides]
  const isMap = (map: unknown) => typeof map === 'object' && map !== null && Object.values(map).every(isToken)
  return typeof setup === 'function' && maps.every(isMap)
}
