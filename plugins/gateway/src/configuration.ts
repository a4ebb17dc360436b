import { ByteSize, FilePath, type Static, Type } from '@nodekeep/plugin-sdk'
import { registrationConfiguration } from './registration/configuration.ts'

const host = (what: string) =>
  Type.String({
    default: '',
    description: `Address on which the gateway listens for ${what}. Empty means all addresses.`,
  })
const port = (value: number, what: string) =>
  Type.Integer({
    default: value,
    minimum: 0,
    maximum: 65_535,
    description: `TCP port for ${what}. 0 lets the system choose one.`,
  })
const count = (value: number, description: string) =>
  Type.Integer({ default: value, minimum: 1, maximum: 1_000_000, description })
const nodeId = Type.String({ pattern: '^[1-9A-HJ-NP-Za-km-z]{32,44}$' })
const seconds = (value: number, description: string) =>
  Type.Number({ default: value, minimum: 0.1, maximum: 86_400, description })

/** The section `gateway` of the configuration. */
export const configuration = Type.Object({
  domain: Type.Optional(
    Type.String({
      format: 'hostname',
      pattern: '^[^A-Z]*$',
      description:
        'The domain, in lower case, whose subdomains are the names of nodes: with `example.org`, a node has the address `me.example.org`. The domain itself serves the API of the gateway. Without a domain, nodes only have ports.',
    }),
  ),
  nodes: Type.Array(nodeId, {
    default: [],
    description: 'The ids of the nodes that may use the gateway. If empty, every node may.',
  }),
  names: Type.Record(Type.String({ pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$' }), nodeId, {
    additionalProperties: false,
    default: {},
    description: 'Names that you give to nodes yourself: subdomain to node id.',
  }),
  registration: registrationConfiguration,
  control: Type.Object(
    { host: host('nodes'), port: port(8090, 'nodes') },
    { default: {}, description: 'Where nodes connect.' },
  ),
  http: Type.Object(
    {
      enabled: Type.Boolean({
        default: true,
        description: 'Whether the gateway answers plain HTTP. It needs a domain.',
      }),
      host: host('plain HTTP'),
      port: port(80, 'plain HTTP'),
    },
    { default: {}, description: 'Redirects browsers from http to https, and serves nothing else.' },
  ),
  https: Type.Object(
    {
      enabled: Type.Boolean({
        default: true,
        description: 'Whether the gateway forwards https to nodes. It needs a domain.',
      }),
      host: host('https'),
      port: port(443, 'https'),
      publicPort: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 65_535,
          description: 'The port that clients use, if a proxy or a NAT in front has another one.',
        }),
      ),
    },
    { default: {}, description: 'Where clients reach nodes by their names. Nodes may connect here, too.' },
  ),
  tls: Type.Optional(
    Type.Object(
      {
        cert: FilePath({ description: 'File with the certificate chain, in PEM.' }),
        key: FilePath({ description: 'File with the private key, in PEM.' }),
      },
      {
        description:
          "A certificate for the domain and its subdomains. With it, the gateway's API has an address, and the gateway ends TLS for nodes that do not: it can then read what they and their clients say.",
      },
    ),
  ),
  ports: Type.Object(
    {
      host: host('clients of allocated ports'),
      range: Type.String({
        pattern: '^(\\d{1,5}-\\d{1,5})?$',
        default: '20000-20999',
        description: 'The ports that the gateway allocates, one for each node. Empty means none.',
      }),
    },
    { default: {}, description: 'A port for each node.' },
  ),
  proxyProtocol: Type.Array(Type.String({ format: 'network' }), {
    default: [],
    description:
      'Addresses and networks of proxies in front. Every connection from there to a listener for clients must begin with a header of the PROXY protocol, version 1 or 2.',
  }),
  limits: Type.Object(
    {
      nodes: count(5000, 'Maximum number of nodes that are connected at a time.'),
      nodesPerAddress: count(
        100,
        'Maximum number of nodes that are connected from one address (IPv6: one network of 64 bits).',
      ),
      connections: count(10_000, 'Maximum number of connections of clients.'),
      connectionsPerNode: count(1000, 'Maximum number of connections of clients for one node.'),
      connectionsPerAddress: count(
        250,
        'Maximum number of connections of clients from one address (IPv6: one network of 64 bits).',
      ),
      handshakes: count(
        2000,
        'Maximum number of connections of nodes that the gateway has not taken in yet.',
      ),
      handshakesPerAddress: count(200, 'The same for one address.'),
      helloSeconds: seconds(10, 'Maximum time for a new connection to say what it wants.'),
      idleSeconds: seconds(
        3600,
        'Time without a byte in either direction after which the connection of a client is closed.',
      ),
      bytesPerSecond: Type.Optional(
        ByteSize({
          minimum: 1024,
          description:
            'Maximum rate of all connections of one node together, in bytes per second, averaged over a few seconds. Without it, there is none.',
        }),
      ),
    },
    { default: {}, description: 'The limits of the gateway.' },
  ),
  spares: Type.Integer({
    default: 1,
    minimum: 0,
    maximum: 100,
    description:
      'Connections that each node holds open for its next clients. With more, fewer clients of a burst wait; each takes some 70 KB of memory.',
  }),
  drainSeconds: seconds(8, 'Maximum time for connections of clients to end when the gateway stops.'),
})

/** The configuration of the gateway. */
export type GatewayConfiguration = Static<typeof configuration>
