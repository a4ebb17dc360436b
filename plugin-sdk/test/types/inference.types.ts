import {
  type AuthenticatedUser,
  definePlugin,
  defineRegistry,
  defineService,
  type EventBus,
  Files,
  type FilesService,
  HealthChecks,
  type Log,
  type RegistryReader,
  type RegistryWriter,
  Secret,
  type StateStore,
  Type,
  UserDirectory,
} from '@nodekeep/plugin-sdk'

/**
 * The types of `setup` and of a route handler are inferred from the declarations, without annotations. This file must
 * compile, as `npm test` checks.
 */

/** Is `true` if two types are equal. `any` equals only `any`. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

function same<A, B>(..._proof: Same<A, B> extends true ? [] : [never]): void {}

interface Geocoder {
  locate(address: string): Promise<[latitude: number, longitude: number]>
}

const Geocoding = defineService<Geocoder>('acme-geocoder', 1)
const Maps = defineRegistry<URL>('acme-maps', 1)

export const everything = definePlugin({
  id: 'acme',
  description: 'Declares one of each.',
  config: Type.Object({
    apiKey: Secret(),
    baseURL: Type.String({ default: 'https://api.acme.test' }),
    region: Type.Optional(Type.Union([Type.Literal('eu'), Type.Literal('us')])),
  }),
  requires: { users: UserDirectory, maps: Maps },
  optional: { files: Files, checks: HealthChecks },
  contributes: { atlas: Maps },
  provides: { geocoder: Geocoding },
  async setup(context) {
    same<typeof context.config, { apiKey: string; baseURL: string; region?: 'eu' | 'us' }>()
    same<typeof context.maps, RegistryReader<URL>>()
    same<typeof context.files, FilesService | undefined>()
    same<typeof context.checks, RegistryReader<import('@nodekeep/plugin-sdk').HealthCheck> | undefined>()
    same<typeof context.atlas, RegistryWriter<URL>>()
    same<typeof context.log, Log>()
    same<typeof context.state, StateStore>()
    same<typeof context.events, EventBus>()
    same<typeof context.signal, AbortSignal>()
    const owner = await context.users.owner()
    same<NonNullable<typeof owner>['uuid'], string>()
    for (const [name, map] of context.maps) context.log.info({ name, href: map.href }, 'a map')
    context.onStop(context.atlas.add('world', new URL('https://maps.test')))
    return { geocoder: { locate: async () => [0, 0] } }
  },
})

export const nothing = definePlugin({ id: 'nothing', setup() {} })

export const providesAtOnce = definePlugin({
  id: 'geocoder',
  requires: { users: UserDirectory },
  provides: { geocoder: Geocoding },
  setup: ({ users }) => ({
    geocoder: {
      async locate() {
        await users.get('acme')
        return [0, 0]
      },
    },
  }),
})

const Note = Type.Object({ text: Type.String(), pinned: Type.Optional(Type.Boolean()) })

export const routes = definePlugin({
  id: 'notes',
  setup({ routes }) {
    routes(
      (app) => {
        app.post(
          '/:id',
          {
            config: { access: 'public', publicReason: 'It is an example.', body: 'buffered' },
            schema: {
              params: Type.Object({ id: Type.Integer() }),
              querystring: Type.Object({ dryRun: Type.Boolean({ default: false }) }),
              headers: Type.Object({ 'x-device': Type.String() }),
              body: Note,
              response: { 200: Note, 202: Type.Null() },
            },
          },
          async ({ params, query, headers, body, user }, reply) => {
            same<typeof params, { id: number }>()
            same<typeof query, { dryRun: boolean }>()
            same<(typeof headers)['x-device'], string>()
            same<typeof body, { text: string; pinned?: boolean }>()
            same<typeof user, AuthenticatedUser | null>()
            if (query.dryRun) return reply.code(202).send(null)
            return { text: `${params.id}: ${body.text}` }
          },
        )
        const picture = {
          content: { 'image/png': { schema: { type: 'string', format: 'binary' } } },
        } as const
        app.get('/picture', { schema: { response: { 200: picture } } }, async (_, reply) =>
          reply.type('image/png').send(new Uint8Array(1)),
        )
        app.get('/', { websocket: true }, (socket, request) => {
          same<typeof request.user, AuthenticatedUser | null>()
          socket.send('hello')
        })
      },
      {
        prefix: '/api/notes',
        webSockets: true,
        serializeError: ({ message, status }) => ({
          contentType: 'text/plain',
          body: `${status} ${message}`,
        }),
      },
    )
  },
})

export const described = definePlugin({
  id: 'described',
  setup({ routes }) {
    routes((app) => {
      app.get('/described', { schema: { summary: 'Says nothing', tags: ['acme'] } }, async () => null)
    })
  },
})
