import { fileURLToPath } from 'node:url'

/** A fixture that cannot start, and the state that the node must report. */
export interface FailingPlugin {
  /** The folder below `fixtures`. */
  readonly folder: string
  readonly state: 'failed' | 'blocked'
  readonly phase: string | null
  readonly reason: RegExp
  /** The id in the configuration, if it differs from the folder. */
  readonly id?: string
  /** Other fixtures that this one needs. */
  readonly beside?: readonly string[]
  /** Its section of the configuration. */
  readonly section?: unknown
}

/** The folder of the fixtures. */
export const fixtures = fileURLToPath(new URL('fixtures', import.meta.url))

/** Limits that let a test wait for a plugin that hangs. */
export const shortLimits = {
  importTimeoutMs: 5000,
  setupTimeoutMs: 5000,
  startTimeoutMs: 5000,
  stopTimeoutMs: 300,
}

const failed = (phase: string, folder: string, reason: RegExp, more: Partial<FailingPlugin> = {}) =>
  ({ folder, state: 'failed', phase, reason, ...more }) as const

const blocked = (folder: string, reason: RegExp, more: Partial<FailingPlugin> = {}) =>
  ({ folder, state: 'blocked', phase: null, reason, ...more }) as const

/** Every fixture that fails before the node listens. */
export const failingPlugins: readonly FailingPlugin[] = [
  failed('locate', 'not-there', /no package\.json in .*not-there\. "from" must name the folder/),
  failed('manifest', 'broken/manifest', /package\.json cannot be read/, { id: 'broken-manifest' }),
  failed('manifest', 'no-manifest-field', /has no "nodekeep" field, so it is not a Nodekeep plugin/),
  failed('manifest', 'manifest-of-list', /package\.json: "nodekeep" must be an object, but is an array\./),
  failed('manifest', 'no-id', /package\.json: "nodekeep\.id" is missing\./),
  failed('manifest', 'misspelt-manifest', /"nodekeep\.secton" is not a known key\. Did you mean "section"\?/),
  failed('manifest', 'entry-outside', /"nodekeep\.entry" must be a path within the package, such as/),
  failed(
    'manifest',
    'folders-outside',
    /"nodekeep\.folders\.root" must be a path below the data folder, such as/,
  ),
  failed('sdk', 'wrong-sdk', /works with SDK \^7\.1\.0, and this node has SDK 0\.1\.0\. Install/),
  failed('sdk', 'bad-sdk-range', /"newest please", which is not a version range/),
  failed(
    'import',
    'lacks-entry',
    /names the entry .*dist\/index\.js, which does not exist\. Was the package built/,
  ),
  failed(
    'import',
    'throws-at-import',
    /^nodekeep-throws-at-import@1\.2\.3 threw while it was imported: the import broke/,
  ),
  failed('import', 'throws-frozen-at-import', /threw while it was imported: the frozen import broke/),
  failed('import', 'throws-nothing-at-import', /threw while it was imported: undefined/),
  failed('import', 'hangs-at-import', /took longer than 5 s \(loader\.importTimeoutMs\)/),
  failed('import', 'broken/syntax', /threw while it was imported: Unexpected .* \(index\.js:2\)$/, {
    id: 'broken-syntax',
  }),
  failed('import', 'broken/part', /threw while it was imported: Unexpected .* \(lib\/part\.js:3\)$/, {
    id: 'broken-part',
  }),
  failed('import', 'missing-export', /does not provide an export named 'gone' \(index\.js:2\)$/),
  failed(
    'import',
    'unknown-field',
    /"confg" is not a field of a plugin\. The fields are id, .* \(index\.js:3\)$/,
  ),
  failed('import', 'no-setup', /"setup" is missing, or not a function\. \(index\.js:3\)$/),
  failed('import', 'config-of-string', /"config" must be the schema of an object: Type\.Object/),
  failed(
    'dependency',
    'lacks-dependency',
    /needs "nodekeep-no-such-library" \(imported by index\.js\), which is not installed\. Add it/,
  ),
  failed(
    'dependency',
    'lacks-dependency-commonjs',
    /needs "nodekeep-no-such-library", which is not installed/,
  ),
  failed(
    'dependency',
    'lacks-own-file',
    /needs its file .*gone\.js \(imported by index\.js\), which does not exist/,
  ),
  failed('shape', 'exports-nothing', /is not a plugin\. Export the result of definePlugin as default/),
  failed('shape', 'exports-a-function', /is not a plugin\. Export the result of definePlugin/),
  failed('shape', 'forged-brand', /is not a plugin\. Export the result of definePlugin/),
  failed('shape', 'forged-token', /is not a plugin\. Export the result of definePlugin/),
  failed('shape', 'other-id', /"other-id" in its manifest and "another-id" in definePlugin/),
  failed('import', 'bad-tokens', /value of "files" in "requires" is not a service or registry\. Use/),
  failed('import', 'provides-registry', /"checks" in "provides" is not a service/),
  failed(
    'shape',
    'takes-context-name',
    /declares the name "log" twice, or the name is one that every setup context has/,
  ),
  failed('configuration', 'bad-configuration', /bad-configuration\.size .*must be a whole number/, {
    section: { size: 'large' },
  }),
  failed('configuration', 'broken-config-schema', /cannot be checked, since its plugin's schema is wrong/),
  failed('configuration', 'unknown-format', /The format "apikey" does not exist\. Did you mean "api-key"\?/),
  blocked('misses-provider', /needs the service "test-nowhere@1", which is not available\. Install/),
  blocked('chicken', /require each other: "egg" → "chicken" → "egg"\. Disable one/, { beside: ['egg'] }),
  blocked(
    'needs-broken',
    /needs the service "test-greeter@1".*"throws-in-start" provides it, but its state is failed: onStart broke/,
    {
      beside: ['throws-in-start'],
    },
  ),
  failed('setup', 'throws-in-setup', /^the setup broke \(index\.js:9\)$/),
  failed('setup', 'hooks-without-function', /^It called onStart without a function\. Write onStart\(/),
  failed('setup', 'throws-frozen-in-setup', /^the frozen setup broke \(index\.js:9\)$/),
  failed('setup', 'throws-nothing-in-setup', /^It threw undefined instead of an error\.$/),
  failed('setup', 'rejects-in-setup', /^the setup broke later \(index\.js:9\)$/),
  failed('setup', 'hangs-in-setup', /^Its setup took longer than 5 s \(loader\.setupTimeoutMs\)\.$/),
  failed(
    'setup',
    'returns-no-service',
    /provides "test-unmade@1" as "unmade", but its setup returned nothing/,
  ),
  failed('setup', 'returns-undeclared', /Its setup returned "geocoder", which "provides" does not declare/),
  failed(
    'setup',
    'undeclared-registry',
    /The setup context has no "logins"\. Declare .* in "contributes".* \(index\.js:\d+\)$/,
  ),
  failed(
    'setup',
    'reads-registry',
    /"health-checks@1" is declared for reading\. .* declare it in "contributes"/,
  ),
  failed(
    'setup',
    'hollow-backend',
    /adds "hollow" to the registry "storage-backends@3", but the entry has no method "list"/,
  ),
  failed(
    'setup',
    'hollow-driver',
    /^The driver of a storage backend has no method "stat"\. \(index\.js:6\)$/,
  ),
  failed(
    'setup',
    'takes-check-of-kernel',
    /adds "database" to the registry "health-checks@1", where "kernel" has/,
  ),
  failed('routes', 'route-twice', /Method 'GET' already declared for route '\/route-twice'/),
  failed('publish', 'collides', /route GET \/healthy belongs to "healthy" already\. Disable one/, {
    beside: ['healthy'],
  }),
  failed('publish', 'collides-parametric', /route GET \/healthy\/:id belongs to "healthy" already/, {
    beside: ['healthy'],
  }),
  failed('publish', 'collides-optional-parameter', /route GET \/healthy\/:id\? .*"healthy" already/, {
    beside: ['healthy'],
  }),
  failed('publish', 'collides-with-kernel', /GET \/health belongs to "kernel" already\. Choose another/),
  failed(
    'routes',
    'broken-schema',
    /^The route POST \/broken-schema has a request schema that is wrong: "body\.properties\.size\.type" must be one of "array", .*"string"\.$/,
  ),
  failed('routes', 'unknown-format-in-route', /The format "dat" does not exist\. Did you mean "date"\?/),
  failed(
    'routes',
    'broken-reference',
    /^The route GET \/broken-reference has a request schema that is wrong: "querystring" refers to "nowhere", and there/,
  ),
  failed(
    'routes',
    'broken-response-schema',
    /^The route GET \/broken-response-schema has a response schema that is wrong: .*"nowhere#"/,
  ),
  failed('routes', 'throws-in-nested', /^the nested plugin broke \(index\.js:12\)$/),
  failed('routes', 'throws-in-nested-later', /^the nested plugin broke later \(index\.js:13\)$/),
  failed('routes', 'hangs-in-nested', /took longer than 5 s to register \(loader\.setupTimeoutMs\)/),
  failed('routes', 'hangs-in-routes', /took longer than 5 s to register \(loader\.setupTimeoutMs\)/),
  failed('routes', 'throws-in-ready', /^onReady broke \(index\.js:11\)$/),
  failed(
    'routes',
    'public-without-reason',
    /GET \/public-without-reason is public\. Say why in "publicReason"/,
  ),
  failed('routes', 'unknown-access', /has the access "friends"\. Use "user", "owner" or "public"/),
  failed(
    'routes',
    'answers-everything',
    /^The route GET \/\* would answer paths of other plugins\. Put a name of your own .* \/notes\/\*\. \(index\.js:\d+\)$/,
  ),
  failed(
    'routes',
    'answers-any-api',
    /^The route GET \/api\/:any\/list would answer paths of other plugins\. .* \/api\/notes\/\*\./,
  ),
  failed('routes', 'sets-error-handler', /must not call app\.setErrorHandler\(\).*"serializeError"/),
  failed('routes', 'sets-error-handler-nested', /must not call app\.setErrorHandler\(\)/),
  failed(
    'routes',
    'sets-error-handler-of-route',
    /route GET \/sets-error-handler-of-route has an "errorHandler"/,
  ),
  failed('routes', 'sets-not-found-handler', /must not call app\.setNotFoundHandler\(\)/),
  failed('routes', 'listens-itself', /must not call app\.listen\(\)/),
  failed('start', 'throws-in-start', /^onStart broke \(index\.js:12\)$/),
  failed('start', 'throws-frozen-in-start', /^the frozen onStart broke \(index\.js:10\)$/),
  failed('start', 'rejects-in-start', /^onStart broke later \(index\.js:10\)$/),
  failed('serving', 'throws-in-serving', /^onServing broke \(index\.js:10\)$/),
  failed('start', 'hangs-in-start', /^Its onStart took longer than 5 s \(loader\.startTimeoutMs\)\.$/),
]

export function idOf({ id, folder }: FailingPlugin): string {
  return id ?? folder
}

/** Returns the configuration of a node with some of the fixtures. */
export function configurationOf(
  plugins: readonly FailingPlugin[],
  required: boolean,
  beside: readonly string[] = [],
): Record<string, unknown> {
  const optional = new Set([...beside, ...plugins.flatMap((plugin) => plugin.beside ?? [])])
  const entries = [
    ...[...optional].map((folder) => [folder, { from: `./${folder}`, required: false }] as const),
    ...plugins.map((plugin) => [idOf(plugin), { from: `./${plugin.folder}`, required }] as const),
  ]
  const sections = plugins.flatMap((plugin) =>
    plugin.section === undefined ? [] : [[idOf(plugin), plugin.section] as const],
  )
  return { plugins: Object.fromEntries(entries), loader: shortLimits, ...Object.fromEntries(sections) }
}
