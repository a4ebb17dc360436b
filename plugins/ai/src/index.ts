import {
  AiChats,
  AiProviders,
  definePlugin,
  limitJsonComplexity,
  SessionsEnded,
  UserData,
} from '@nodekeep/plugin-sdk'
import { ChatLimits } from './chats/chat-limits.ts'
import { ChatService } from './chats/chat-service.ts'
import { Fallbacks } from './chats/fallbacks.ts'
import { RunningChats } from './chats/running-chats.ts'
import { configuration } from './configuration.ts'
import { chatRoute } from './http/chat-route.ts'
import { modelsRoute } from './http/models-route.ts'
import { providersRoute } from './http/providers-route.ts'
import { usageRoute } from './http/usage-route.ts'
import { ModelLists } from './model-lists.ts'
import { UsageLedger } from './usage/usage-ledger.ts'

/** The plugin `ai`: chats with the models of every provider, over HTTP and for other plugins. */
export default definePlugin({
  id: 'ai',
  description: 'Chats with language models, on your own machine or elsewhere.',
  config: configuration,
  requires: { providers: AiProviders },
  contributes: { userData: UserData },
  provides: { chats: AiChats },
  setup({ config, providers, userData, state, events, log, signal, routes, onStart, onStop }) {
    const { timeouts } = config
    const { keepSeconds, ...waiting } = config.models
    const running = new RunningChats(providers)
    const ledger = new UsageLedger({ state, log, keepDays: config.usage.keepDays })
    const fallbacks = new Fallbacks(config.fallbacks)
    const models = new ModelLists(providers, { ...waiting, keepMs: keepSeconds * 1000 }, log)
    const chats = new ChatService({
      providers,
      models,
      running,
      ledger,
      log,
      limits: new ChatLimits(config.limits),
      fallbacks,
      policy: config.retries,
      callLimits: {
        firstMs: timeouts.firstSeconds * 1000,
        betweenMs: timeouts.betweenSeconds * 1000,
        replyBytes: config.maxReplyBytes,
      },
      totalMs: timeouts.totalSeconds * 1000,
    })

    providers.onChange(() => {
      running.endOrphans()
      models.forgetUnloaded()
    })
    events.on(SessionsEnded, ({ userUuid }) => running.endOfUser(userUuid))
    signal.addEventListener('abort', () => {
      running.endAll()
      models.close()
    })
    onStart(() => {
      for (const { key, model, provider } of fallbacks.missing((name) => providers.has(name))) {
        const effect =
          model === key
            ? `is for the AI provider "${provider}", which is not loaded, so only its fallbacks reply`
            : `names "${model}", but the AI provider "${provider}" is not loaded, so this fallback is skipped`
        log.warn(
          { model, providers: providers.names() },
          `ai.fallbacks["${key}"] ${effect}. Load its plugin (plugins), or correct the name.`,
        )
      }
    })
    onStop(() => ledger.flush())
    userData.add('ai', {
      async erase(userUuid) {
        running.endOfUser(userUuid)
        await ledger.erase(userUuid)
      },
    })
    const { maxBodyBytes, heartbeatSeconds } = config
    routes((app) => {
      limitJsonComplexity(app)
      chatRoute(app, { chats, maxBodyBytes, heartbeatMs: heartbeatSeconds * 1000 })
      modelsRoute(app, chats, providers)
      providersRoute(app, models)
      usageRoute(app, ledger)
    })
    return { chats }
  },
})
