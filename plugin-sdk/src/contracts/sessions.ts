import { defineEvent } from '../event.ts'

/**
 * The event that sessions of a user ended: they were revoked or signed out, the user was disabled, or they expired during
 * a request. The kernel closes the WebSockets of the session. A plugin must end everything else that it keeps open for
 * the user, such as a stream of events. If another process ended the session, the event comes within five seconds.
 */
export const SessionsEnded = defineEvent<{ readonly userUuid: string }>('sessions.ended')
