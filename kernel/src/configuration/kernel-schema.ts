import { type Static, Type } from '@nodekeep/plugin-sdk'
import { logFormats, logLevels } from '../log/levels.ts'

const seconds = (value: number, description: string) =>
  Type.Number({ default: value, minimum: 0.1, maximum: 86400, description })

const milliseconds = (value: number, description: string) =>
  Type.Integer({ default: value, minimum: 1, maximum: 3600000, description })

const days = (value: number, description: string) =>
  Type.Integer({ default: value, minimum: 1, maximum: 3650, description })

const wallet = (description: string) => Type.String({ format: 'wallet-address', description })

const server = Type.Object(
  {
    host: Type.String({
      default: '127.0.0.1',
      minLength: 1,
      description: 'Address to listen on. "0.0.0.0" or "::" accept connections from other machines.',
    }),
    port: Type.Integer({
      default: 4200,
      minimum: 0,
      maximum: 65535,
      description: 'TCP port to listen on. 0 lets the system choose a free one.',
    }),
    publicUrl: Type.Optional(
      Type.Union(
        [Type.String({ format: 'http-origin' }), Type.Array(Type.String({ format: 'http-origin' }))],
        {
          description:
            'URL under which clients reach the node from outside, such as through a proxy, or an array of them. Links use the first.',
        },
      ),
    ),
    hostnames: Type.Array(Type.String({ format: 'hostname' }), {
      default: [],
      description:
        'More host names under which clients may reach the node, such as "nas.local". Loopback addresses and "host" are accepted from this machine and the local network, but not through a trusted proxy.',
    }),
    trustedProxies: Type.Array(Type.String({ format: 'network' }), {
      default: [],
      description: 'Addresses and networks of proxies whose "x-forwarded-*" headers the node trusts.',
    }),
    cors: Type.Object(
      {
        origins: Type.Array(Type.String({ format: 'http-origin' }), {
          default: [],
          description: 'Origins of other sites whose pages may call the node. If empty, no other site may.',
        }),
      },
      { default: {}, description: 'Cross-origin requests.' },
    ),
    bodyLimit: Type.Integer({
      default: 1048576,
      minimum: 1,
      maximum: 1073741824,
      description:
        'Maximum size of a request body that is held in memory, in bytes. Uploads are streamed and have their own limits.',
    }),
    bodyTimeoutSeconds: seconds(
      30,
      'Maximum time to receive a request body that is held in memory, and maximum pause in a streamed body, in seconds.',
    ),
    headersTimeoutSeconds: seconds(15, 'Maximum time to receive the headers of a request, in seconds.'),
    keepAliveTimeoutSeconds: seconds(
      72,
      'Time that an idle connection stays open, in seconds. It should exceed the limit of a proxy in front, often 60.',
    ),
    stallTimeoutSeconds: seconds(
      300,
      'Maximum time without a byte in either direction while a request is being answered, in seconds.',
    ),
    maxConnections: Type.Integer({
      default: 10000,
      minimum: 1,
      description: 'Maximum number of concurrent connections. Further connections are closed at once.',
    }),
    drainSeconds: seconds(10, 'Maximum time for running requests to end when the node stops, in seconds.'),
  },
  { default: {}, description: 'How the node listens.' },
)

const data = Type.String({
  default: './data',
  minLength: 1,
  description: 'Folder for all data of the node.',
})

const session = Type.Object(
  {
    expiryDays: days(30, 'Days after which a session ends, even if it is in use.'),
    idleDays: days(30, 'Days without use after which a session ends.'),
    tokenIdleDays: days(180, 'Days without use after which an API token ends.'),
  },
  { default: {}, description: 'How long a sign-in lasts.' },
)

const auth = Type.Object(
  {
    owner: Type.Optional(
      wallet(
        "Wallet address of the owner. If it is not set, the first user who signs in with the claim code becomes the owner. If the address changes, the user of the new wallet becomes the owner; to move the owner's user and files to the new wallet, also run `nodekeep user set-wallet OLD NEW --swap`.",
      ),
    ),
    admission: Type.Enum(['owner', 'allowlist', 'open'], {
      default: 'owner',
      description:
        'Users who may sign in: the owner only, the owner and the wallets of the allowlist, or everybody. Users who were added with `nodekeep user add` may always sign in.',
    }),
    allowlist: Type.Array(wallet('A wallet address.'), {
      default: [],
      description: 'Wallet addresses that may sign in when "admission" is "allowlist".',
    }),
    signInsPerMinute: Type.Integer({
      default: 20,
      minimum: 1,
      description: 'Maximum number of sign-in attempts per minute from one client address.',
    }),
    signInTimeoutMs: milliseconds(
      15000,
      'Maximum time for a login provider to verify a sign-in, in milliseconds.',
    ),
    deletionGraceDays: Type.Integer({
      default: 7,
      minimum: 0,
      maximum: 3650,
      description:
        'Days between the deletion of a user and the removal of their data. The deletion can be undone until then. The removal follows when the node has run for 24 hours more, so that a clock that is ahead for a while removes nothing; with 0, it follows within one hour. It waits while an enabled plugin is not active. Data that a disabled plugin stores is not removed.',
    }),
  },
  { default: {}, description: 'Who may sign in.' },
)

const log = Type.Object(
  {
    level: Type.Enum(logLevels, { default: 'info', description: 'Lowest severity that is logged.' }),
    format: Type.Enum(logFormats, {
      default: 'auto',
      description:
        'Form of the lines: "pretty" for people, "json" for programs, "auto" for "pretty" on a terminal and "json" elsewhere.',
    }),
  },
  { default: {}, description: 'The level and the form of the log.' },
)

const health = Type.Object(
  {
    required: Type.Array(Type.String({ minLength: 1 }), {
      default: ['database'],
      description: 'Names of the checks that must pass. If one fails, `/health` answers 503.',
    }),
    timeoutMs: milliseconds(2000, 'Maximum time for one check, in milliseconds.'),
  },
  { default: {}, description: 'The health report.' },
)

const loader = Type.Object(
  {
    importTimeoutMs: milliseconds(10000, "Maximum time to import a plugin's module, in milliseconds."),
    setupTimeoutMs: milliseconds(30000, "Maximum time for a plugin's setup, in milliseconds."),
    startTimeoutMs: milliseconds(
      30000,
      "Maximum time for each of a plugin's onStart and onServing hooks, in milliseconds.",
    ),
    stopTimeoutMs: milliseconds(10000, "Maximum time for each of a plugin's onStop hooks, in milliseconds."),
  },
  { default: {}, description: 'Time limits for plugins.' },
)

/** One plugin of the map in its long form. `true` and `false` are short for `{ "enabled": … }`. */
export const pluginSchema = Type.Object({
  from: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Package of the plugin, or the id of a first-party plugin. Default: the id.',
    }),
  ),
  required: Type.Boolean({
    default: true,
    description:
      'Whether the node refuses to start without the plugin. If false, a plugin that fails is left out.',
  }),
  enabled: Type.Boolean({ default: true, description: 'Whether the plugin is loaded.' }),
})

const plugins = Type.Record(Type.String(), pluginSchema, {
  default: {},
  description: 'The plugins by id: true, false, or an object.',
})

const services = Type.Record(Type.String(), Type.String({ minLength: 1 }), {
  default: {},
  description: 'The provider of each service that several plugins provide: service id to plugin id.',
})

const supervised = Type.Boolean({
  default: false,
  description:
    'Whether a service manager, such as systemd, starts the node again after exit code 75. Only then can the node restart itself, as for an update.',
})

const releases = Type.Object(
  {
    folder: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'Folder for the releases of Nodekeep, on a disk where programs may run. Default: `releases` in the data folder.',
      }),
    ),
    trialSeconds: seconds(
      120,
      'Maximum time for a new release to start and to be healthy, before clients reach it, in seconds.',
    ),
    answerSeconds: seconds(
      30,
      'Time after which a node that does not answer its supervisor is killed and started again, in seconds.',
    ),
  },
  { default: {}, description: 'How `nodekeep supervise` runs and changes releases.' },
)

/** The kernel's own sections, and the map of plugins. */
export const kernelSchema = Type.Object({
  server,
  data,
  session,
  auth,
  log,
  health,
  loader,
  services,
  supervised,
  releases,
  plugins,
})

/** The kernel's own configuration, validated and with defaults. `data` is an absolute path. */
export type KernelConfiguration = Omit<Static<typeof kernelSchema>, 'plugins'>

/** Names that no plugin may use as its id or its section. */
export const reservedNames: ReadonlySet<string> = new Set([
  ...Object.keys(kernelSchema.properties),
  'extends',
  '$schema',
  'config',
])
