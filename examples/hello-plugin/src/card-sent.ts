import { defineEvent } from '@nodekeep/plugin-sdk'

/** Emitted when a card was stored. Other plugins may listen: `events.on(CardSent, ({ id }) => …)`. */
export const CardSent = defineEvent<{ readonly id: string; readonly senderUuid: string }>('hello.card-sent')
