import type { CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyReply } from 'fastify'
import { sessionCookie } from './request-token.ts'

/** Sets and clears the cookie `session`: out of reach of scripts, and not sent along by foreign pages' forms. */
export interface SessionCookies {
  set(reply: FastifyReply, token: string): void
  clear(reply: FastifyReply): void
}

const daySeconds = 24 * 60 * 60

/** @param publicUrl `server.publicUrl`; with https there, or behind a trusted proxy that has TLS, the cookie is Secure */
export function createSessionCookies(publicUrl: string | undefined, expiryDays: number): SessionCookies {
  const attributes = (reply: FastifyReply): CookieSerializeOptions => ({
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    secure: publicUrl?.startsWith('https:') ?? reply.request.protocol === 'https',
  })
  return {
    set(reply, token) {
      reply.setCookie(sessionCookie, token, { ...attributes(reply), maxAge: expiryDays * daySeconds })
    },
    clear(reply) {
      reply.clearCookie(sessionCookie, attributes(reply))
    },
  }
}
