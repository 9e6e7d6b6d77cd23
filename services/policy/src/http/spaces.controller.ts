import {
  type CreateSpaceRequest,
  createSpaceRequest,
  type Identity,
  type MemberView,
  type SetMemberRequest,
  type SpaceView,
  setMemberRequest,
  token,
  userId,
} from '@holdpoint/contracts';
import { Who } from '@holdpoint/runtime';
import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query } from '@nestjs/common';
import { z } from 'zod';
import { Spaces } from '../spaces.js';

const listQuery = z.strictObject({
  /** `nextCursor` of the page before. */
  cursor: userId.optional(),
  limit: z.coerce.number().int().min(1).max(200).default(100),
});

/** Spaces and who belongs to them. For people; a service asks `/internal/members`. */
@Controller('api/v1/spaces')
export class SpacesController {
  constructor(private readonly spaces: Spaces) {}

  @Get()
  async mine(@Who() who: Identity): Promise<{ items: SpaceView[] }> {
    return { items: await this.spaces.mine(who) };
  }

  @Post()
  create(@Body({ schema: createSpaceRequest }) request: CreateSpaceRequest, @Who() who: Identity): Promise<SpaceView> {
    return this.spaces.create(who, request);
  }

  /** By user id; any member may see them. */
  @Get(':spaceId/members')
  async members(
    @Param('spaceId', { schema: token }) spaceId: string,
    @Query({ schema: listQuery }) { cursor = '', limit }: z.infer<typeof listQuery>,
    @Who() who: Identity,
  ): Promise<{ items: MemberView[]; nextCursor?: string }> {
    const found = await this.spaces.members(who, spaceId, cursor, limit + 1);
    const items = found.slice(0, limit);
    const last = items.at(-1);
    return { items, ...(found.length > limit && last ? { nextCursor: last.userId } : {}) };
  }

  @Put(':spaceId/members/:userId')
  set(
    @Param('spaceId', { schema: token }) spaceId: string,
    @Param('userId', { schema: userId }) member: string,
    @Body({ schema: setMemberRequest }) request: SetMemberRequest,
    @Who() who: Identity,
  ): Promise<MemberView> {
    return this.spaces.set(who, spaceId, member, request);
  }

  @Delete(':spaceId/members/:userId')
  @HttpCode(204)
  remove(
    @Param('spaceId', { schema: token }) spaceId: string,
    @Param('userId', { schema: userId }) member: string,
    @Who() who: Identity,
  ): Promise<void> {
    return this.spaces.remove(who, spaceId, member);
  }
}
