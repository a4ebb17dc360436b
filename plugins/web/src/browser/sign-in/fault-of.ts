import { Refusal } from '../refusal.ts'
import * as texts from '../texts.ts'

/** Returns the reason why a sign-in or a signature failed, for people. */
export function faultOf(error: unknown): string {
  if (error instanceof Refusal) return error.message
  const { code, message } = Object(error) as { code?: unknown; message?: unknown }
  // EIP-1193: the person has refused.
  if (code === 4001) return texts.signIn.declined
  if (error instanceof TypeError || typeof message !== 'string') return texts.signIn.failed
  return texts.signIn.walletFailed(message)
}
