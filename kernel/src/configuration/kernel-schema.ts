import { type Static, Type } from '@nodekeep/plugin-sdk'

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
      description: 'Address to listen on. "0.0.0.0" or "::" take connections from other machines.',
    }),
    port: Type.Integer({
      default: 4200,
      minimum: 0,
      maximum: 65535,
      description: 'TCP port to listen on. 0 lets the system choose a free one.',
    }),
    publicUrl: Type.Optional(
      Type.String({
        format: 'http-origin',
        description: 'The address under which clients reach the node, when it is not the one it listens on.',
      }),
    ),
    hostnames: Type.Array(Type.String({ format: 'hostname' }), {
      default: [],
      description:
        'Further names under which clients may reach the node, such as "nas.local". Loopback addresses and "host" need not be listed; with "publicUrl" only that counts.',
    }),
    trustedProxies: Type.Array(Type.String({ format: 'network' }), {
      default: [],
      description: 'Addresses and networks of proxies whose "x-forwarded-*" headers are believed.',
    }),
    cors: Type.Object(
      {
        origins: Type.Array(Type.String({ format: 'http-origin' }), {
          default: [],
          description: 'Origins of other sites whose pages may call the node. Empty: none may.',
        }),
      },
      { default: {}, description: 'Cross-origin requests.' },
    ),
    bodyLimit: Type.Integer({
      default: 1048576,
      minimum: 1,
      maximum: 1073741824,
      description:
        'Largest request body that is held in memory, in bytes. Uploads are streamed and have limits of their own.',
    }),
    bodyTimeoutSeconds: seconds(
      30,
      'Longest time for a request body that is held in memory to come in, and longest pause in one that is streamed, in seconds.',
    ),
    headersTimeoutSeconds: seconds(15, 'Longest time for the headers of a request to come in, in seconds.'),
    keepAliveTimeoutSeconds: seconds(
      72,
      'How long an idle connection stays open, in seconds. Proxies want it longer than their own limit, often 60.',
    ),
    stallTimeoutSeconds: seconds(
      300,
      'How long a connection may stay without a byte in either direction while a request is answered, in seconds.',
    ),
    maxConnections: Type.Integer({
      default: 10000,
      minimum: 1,
      description: 'Most connections at a time. Further ones are closed at once.',
    }),
    drainSeconds: seconds(10, 'How long running requests may take to end when the node stops, in seconds.'),
  },
  { default: {}, description: 'How the node listens.' },
)

const data = Type.String({
  default: './data',
  minLength: 1,
  description:
    'Folder of everything the node stores. In a file, a relative path starts at the folder of that file; elsewhere, and for the default, at the working directory.',
})

const session = Type.Object(
  {
    expiryDays: days(30, 'Days after which a session ends, however much it is used.'),
    idleDays: days(30, 'Days without use after which a session ends.'),
  },
  { default: {}, description: 'How long a sign-in lasts.' },
)

const auth = Type.Object(
  {
    owner: Type.Optional(
      wallet(
        "Wallet address of the owner. Without it, whoever first signs in with the claim code becomes the owner. Another address makes that wallet's user the owner; to keep the account and its files, run `nodekeep user set-wallet OLD NEW --swap` too.",
      ),
    ),
    admission: Type.Union([Type.Literal('owner'), Type.Literal('allowlist'), Type.Literal('open')], {
      default: 'owner',
      description:
        'Who may sign in: the owner only, the owner and the wallets of the allowlist, or everybody.',
    }),
    allowlist: Type.Array(wallet('A wallet address.'), {
      default: [],
      description: 'Wallet addresses that may sign in when "admission" is "allowlist".',
    }),
    signInsPerMinute: Type.Integer({
      default: 20,
      minimum: 1,
      description: 'How often one client address may try to sign in, each minute.',
    }),
    signInTimeoutMs: milliseconds(15000, 'Longest time that a login provider may take to verify a sign-in.'),
    deletionGraceDays: Type.Integer({
      default: 7,
      minimum: 0,
      maximum: 3650,
      description:
        'Days between the deletion of a user and the removal of their data. Until then it can be undone; the removal follows within the hour, also with 0. Users stay while a plugin of the configuration that is switched on is not active; what one that is switched off keeps of them stays.',
    }),
  },
  { default: {}, description: 'Who may sign in.' },
)

const log = Type.Object(
  {
    level: Type.Union(
      [
        Type.Literal('fatal'),
        Type.Literal('error'),
        Type.Literal('warn'),
        Type.Literal('info'),
        Type.Literal('debug'),
        Type.Literal('trace'),
        Type.Literal('silent'),
      ],
      { default: 'info', description: 'Least severity that is logged.' },
    ),
    format: Type.Union([Type.Literal('auto'), Type.Literal('json'), Type.Literal('pretty')], {
      default: 'auto',
      description: 'Form of the lines: "pretty" for people, "json" for programs, "auto" by where they go.',
    }),
  },
  { default: {}, description: 'What is logged, and how.' },
)

const health = Type.Object(
  {
    required: Type.Array(Type.String({ minLength: 1 }), {
      default: ['database'],
      description: 'Names of the checks without which the node counts as down: `/health` then answers 503.',
    }),
    timeoutMs: milliseconds(2000, 'Longest time for one check, in milliseconds.'),
  },
  { default: {}, description: 'The health report.' },
)

const loader = Type.Object(
  {
    importTimeoutMs: milliseconds(10000, "Longest time for importing a plugin's module, in milliseconds."),
    setupTimeoutMs: milliseconds(30000, "Longest time for a plugin's setup, in milliseconds."),
    startTimeoutMs: milliseconds(30000, "Longest time for a plugin's onStart hooks, in milliseconds."),
    stopTimeoutMs: milliseconds(10000, "Longest time for each of a plugin's onStop hooks, in milliseconds."),
  },
  { default: {}, description: 'How long plugins may take.' },
)

/** One plugin of the map, written out. `true` and `false` stand for `{ "enabled": … }`. */
export const pluginSchema = Type.Object({
  from: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Package of the plugin, or the id of a first-party one. Default: the id.',
    }),
  ),
  required: Type.Boolean({
    default: true,
    description:
      'Whether the node refuses to start without the plugin. Otherwise it is left out when it fails.',
  }),
  enabled: Type.Boolean({ default: true, description: 'Whether the plugin is loaded.' }),
})

const plugins = Type.Record(Type.String(), pluginSchema, {
  default: {},
  description: 'The plugins by id: true, false, or an object.',
})

const services = Type.Record(Type.String(), Type.String({ minLength: 1 }), {
  default: {},
  description: 'Which plugin provides a service where several could: service id to plugin id.',
})

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
  plugins,
})

/** The kernel's own configuration, validated and complete. `data` is an absolute path. */
export type KernelConfiguration = Omit<Static<typeof kernelSchema>, 'plugins'>

/** Names that no plugin may have as its id or its section. */
export const reservedNames: ReadonlySet<string> = new Set([
  ...Object.keys(kernelSchema.properties),
  'extends',
  '$schema',
  'config',
])
