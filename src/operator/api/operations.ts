import { listAudit } from './audit.ts';
import { liftBan, listBans } from './bans.ts';
import { deleteCategory, getCategory, listCategories, renameCategory } from './categories.ts';
import {
  createKey,
  endGraces,
  getKey,
  listKeys,
  pauseKey,
  resumeKey,
  revokeKey,
  rotateKey,
  updateKey,
} from './keys.ts';
import type { OperatorOperation } from './operation.ts';
import { getOrder, listOrders } from './orders.ts';
import { getPet, listPets } from './pets.ts';
import { getRequest, listKeyRequests, listRequests } from './requests.ts';
import { endSession, endSessions, getSession, listSessions } from './sessions.ts';
import { createToken, getToken, listTokens, revokeToken, revokeTokens } from './tokens.ts';
import { getUsage } from './usage.ts';
import { whyRefused } from './why.ts';

/** Every operation of operators. Router, contract and commands are made from this list. */
export const OPERATOR_OPERATIONS: readonly OperatorOperation[] = [
  listKeys,
  listBans,
  listAudit,
  listTokens,
  listSessions,
  listRequests,
  listOrders,
  listPets,
  listCategories,
  getKey,
  getToken,
  getSession,
  getOrder,
  getPet,
  getCategory,
  createKey,
  updateKey,
  rotateKey,
  endGraces,
  pauseKey,
  resumeKey,
  revokeKey,
  liftBan,
  renameCategory,
  deleteCategory,
  createToken,
  revokeToken,
  revokeTokens,
  endSession,
  endSessions,
  listKeyRequests,
  getRequest,
  whyRefused,
  getUsage,
];
