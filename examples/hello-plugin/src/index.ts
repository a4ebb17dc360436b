import { definePlugin, HealthChecks, Secret, Type, UserData } from '@nodekeep/plugin-sdk'
import { CardLinks } from './card-links.ts'
import { CardStore, cardMigrations } from './card-store.ts'
import { helloRoutes } from './hello-routes.ts'

export { CardSent } from './card-sent.ts'

export default definePlugin({
  id: 'hello',
  description: 'Greets people and stores greeting cards behind signed links.',
  config: Type.Object({
    greeting: Type.String({ default: 'Hello', minLength: 1, description: 'The word before the name.' }),
    keepDays: Type.Integer({ default: 30, minimum: 1, description: 'Days after which a card expires.' }),
    linkKey: Secret({
      minLength: 32,
      description: 'Key that signs the links of cards. A new key invalidates old links.',
    }),
  }),
  contributes: { healthChecks: HealthChecks, userData: UserData },
  async setup({ id, config, state, migrations, routes, events, healthChecks, userData }) {
    await migrations(cardMigrations)
    const cards = new CardStore(state, config.keepDays)
    const links = new CardLinks(config.linkKey)
    const path = `/api/${id}`
    routes((app) => helloRoutes(app, { path, greeting: config.greeting, cards, links, events }), {
      prefix: path,
    })
    userData.add(id, { erase: (userUuid, signal) => cards.removeOf(userUuid, signal) })
    healthChecks.add(id, {
      async check() {
        await cards.probe()
        return { ok: true, state: 'ready' }
      },
    })
  },
})
