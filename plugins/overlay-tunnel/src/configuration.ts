import { Type } from '@nodekeep/plugin-sdk'

/** The section `overlay-tunnel` of the configuration. */
export const configuration = Type.Object({
  gateway: Type.String({
    default: '',
    description:
      'The gateway, as `gateway.example.org` or `gateway.example.org:443`. The port is 8090 without one. If empty, the node stays unconnected.',
  }),
  gatewayId: Type.Optional(
    Type.String({
      pattern: '^[1-9A-HJ-NP-Za-km-z]{32,44}$',
      description:
        'The node id of the gateway. Without it, the node trusts the gateway that it meets first, and no other one from then on.',
    }),
  ),
  name: Type.Optional(
    Type.String({
      maxLength: 255,
      description:
        'The name that the node registers at the gateway, as a whole: `me.example.org`, or `me.example.org:8443` if the port of https is not 443. Without it, the node has none, and gives a former one back.',
    }),
  ),
  proxy: Type.Boolean({
    default: true,
    description: 'Whether the node lets the gateway forward clients to it.',
  }),
  maxConnections: Type.Integer({
    default: 1000,
    minimum: 1,
    maximum: 100_000,
    description: 'Maximum number of connections to the gateway, one for each client and a spare one.',
  }),
})
